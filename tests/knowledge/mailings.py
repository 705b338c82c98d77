"""A folder as people have it: a mail tool's export, a German one, an A/B table, facts and style."""

from __future__ import annotations

import csv
import io
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

EXPORT, GERMAN, TESTS = "campaigns.csv", "Auswertung Mailings.csv", "ab.csv"
_NOUNS = [
    *("Tee", "Kanne", "Ernte", "Garten", "Herbst", "Morgen", "Tasse", "Minze", "Kaffee", "Honig"),
    *("Winter", "Abend", "Blatt", "Reise", "Pause", "Bergwind", "Sonne", "Markt", "Regal", "Duft"),
]
_VERBS = ["kommt", "beginnt", "wartet", "schmeckt", "bleibt", "duftet", "reift", "endet"]
_HEADER = [
    *("Title", "Subject", "List", "Send Date", "Send Weekday", "Total Recipients"),
    *("Successful Deliveries", "Soft Bounces", "Forwarded Opens", "Unique Opens", "Open Rate"),
    *("Total Opens", "Unique Clicks", "Click Rate", "Unsubscribes"),
]


def write_export(
    path: Path, *, subjects: int = 220, lift: float = 0.06, days: int = 363, seed: int = 1
) -> None:
    """Three lists through a year; subjects with "dein" or "dich" are opened by `lift` more."""
    rng = Random(seed)
    stream = io.StringIO()
    table = csv.writer(stream)
    table.writerow(_HEADER)
    for at in range(subjects):
        name = ("Kunden", "Interessenten", "Presse")[at % 3]
        when = datetime(2025, 1, 1, 9, 3) + timedelta(days=at * days / subjects)
        sent = rng.randint(4000, 9000)
        is_direct = rng.random() < 0.4
        rate = {"Kunden": 0.24, "Interessenten": 0.19, "Presse": 0.29}[name]
        rate += rng.gauss(0, 0.008) + lift * is_direct
        words = [*rng.sample(_NOUNS, 3), rng.choice(_VERBS)]
        words.insert(rng.randint(0, 3), rng.choice(("dein", "dich")) if is_direct else "der")
        opens = sum(rng.random() < rate for _ in range(sent // 10)) * 10
        table.writerow(
            [
                f"Mailing {at + 1}",
                " ".join(words),
                name,
                f"{when:%b %d, %Y %I:%M }{when:%p}".replace("AM", "am").replace("PM", "pm"),
                f"{when:%A}",
                sent + 40,
                # A gap: nothing but the rate says how the text did.
                "" if at % 23 == 5 else sent,
                rng.randint(0, 40),
                rng.randint(0, 9),
                "" if at % 23 == 5 else opens,
                f"{opens / sent:.2%}",
                opens + rng.randint(0, 500),
                sent // 50,
                "2.00%",
                rng.randint(0, 20),
            ]
        )
    path.write_text(stream.getvalue(), "utf-8-sig")


def write_german(path: Path, *, opens: bool = True) -> None:
    """A dozen mailings of one sender; without opens there are only clicks."""
    columns = ["Versanddatum", "Betreff", "Empfänger", "Zugestellt", "Öffnungen (eindeutig)"]
    lines = [[*columns, "Öffnungsrate", "Klicks", "Abmeldungen"]]
    for at in range(12):
        sent, rate = 1254 + 17 * at, 0.234 + 0.01 * (at % 5)
        lines.append(
            [
                f"{1 + at:02}.0{1 + at // 4}.2025",
                f"Was trägst du in Größe {36 + at}?",
                f"{sent + 9:,}".replace(",", "."),
                f"{sent:,}".replace(",", "."),
                "k. A." if at == 3 else str(round(sent * rate)),
                f"{rate * 100:.1f} %".replace(".", ","),
                str(20 + at),
                "k. A." if at % 2 else "3",
            ]
        )
    lines.append(["", "Summe", "16.278", "16.170", "4.012", "", "306", "18"])
    lines.append(["", "Ø gesamt", "2.034", "2.021", "501", "", "38", "2"])
    kept = [each if opens else each[:4] + each[6:] for each in lines]
    path.write_bytes("\r\n".join(";".join(each) for each in kept).encode("cp1252"))


def write_mailings(folder: Path) -> Path:
    for name in ("facts", "style"):
        (folder / name).mkdir(parents=True)
    write_export(folder / EXPORT)
    write_german(folder / GERMAN)
    (folder / TESTS).write_text(
        "Test,Variant,Subject,Sent,Opens\n"
        "t1,A,Die neue Ernte,2000,500\nt1,B,Endlich neue Ernte,2000,380\n"
        "t2,A,Noch drei Tage,1900,410\nt2,B,Heute zuletzt,1900,600\n"
    )
    (folder / "facts" / "price.md").write_text("Eine Kanne kostet 29 Euro.")
    (folder / "style" / "voice.md").write_text("Kurze Sätze, kein Ausrufezeichen.")
    return folder
