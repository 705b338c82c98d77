"""Bits per byte of a predictor, and of three compressors, on the same bytes."""

import bz2
import lzma
import zlib
from array import array
from math import log2
from pydoc_data.topics import topics
from random import Random

LENGTH = 6144


def score(artifact, seed, items):
    """The means over texts; the predictor sees a byte when it has predicted it."""
    texts = [text_of(item["topic"], seed) for item in items]
    bits = [bits_of(artifact.predict, text) for text in texts]
    return {
        "bits": sum(bits) / len(bits),
        "zlib": mean_bits(lambda text: zlib.compress(text, 9), texts),
        "bz2": mean_bits(bz2.compress, texts),
        "lzma": mean_bits(lambda text: lzma.compress(text, lzma.FORMAT_ALONE), texts),
        "items": bits,
    }


def text_of(topic, seed):
    """A topic of Python's own help with its bytes exchanged at random, so that nobody knows it by heart."""
    table = list(range(256))
    Random(seed).shuffle(table)
    return topics[topic].encode()[:LENGTH].translate(bytes(table))


def bits_of(predict, text):
    """The code length by the weights that were given to the bytes that came."""
    total, previous = 0.0, None
    for byte in text:
        weights = weights_of(predict(previous))
        total -= log2(weights[byte] / sum(weights))
        previous = byte
    return total / len(text)


def weights_of(reply):
    """256 positive whole numbers; what is none is an error."""
    if type(reply) is not bytes or len(reply) != 512:
        raise ValueError("the weights are 256 numbers, as array('H', …).tobytes()")
    weights = array("H", reply)
    if min(weights) == 0:
        raise ValueError("every byte must have a weight of at least 1")
    return weights


def mean_bits(compress, texts):
    """Bits per byte of a compressor."""
    return sum(8 * len(compress(text)) / len(text) for text in texts) / len(texts)
