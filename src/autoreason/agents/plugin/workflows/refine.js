export const meta = {
  name: "refine",
  description: "Improve a text in a blind tournament that fresh subagents answer",
  whenToUse:
    "When a text is to be improved by autoreason; args: {brief: FILE, options: '--draft mine.md'}",
  phases: [{ title: "Tournament" }],
};

const standing = {
  type: "object",
  required: ["run", "open", "done", "says"],
  properties: {
    run: { type: "string" },
    open: { type: "array", items: { type: "string" } },
    done: { type: "boolean" },
    says: { type: "string" },
  },
};

const host = (command) =>
  agent(
    `Run \`autoreason host ${command} --json\` and return the JSON that it prints, nothing else.`,
    {
      schema: standing,
      effort: "low",
      label: command,
    },
  );

const { brief, options = "" } = typeof args === "string" ? { brief: args } : args;
let now = await host(`start ${brief} --call-limit 60 ${options}`);
while (now && !now.done && now.open.length) {
  await parallel(
    now.open.map(
      (token) => () => agent(`Token: ${token}`, { agentType: "autoreason:answerer", label: token }),
    ),
  );
  now = await host(`next ${now.run}`);
}
return now;
