// Serve one GGUF model as Chat Completions on the loopback device, until stdin ends.
//
//     node serve.mjs ENGINE WEIGHTS PORT CONTEXTS
//
// Prints its port. One thread an answer: with more, small machines spend their time waiting. Answers are the most
// likely tokens, each from an empty context, so that an answer depends on its request alone.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [engine, modelPath, port, contexts] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(engine));
const llama = await getLlama({ gpu: false, build: "never", maxThreads: Number(contexts), logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath });
const free = [];
for (let at = 0; at < Number(contexts); at++) {
  free.push((await model.createContext({ contextSize: 8192, threads: 1 })).getSequence());
}
const waiting = []; // requests for which no context is free

// Only the marks of the template are special; what stands in a message is text.
const mark = (text) => model.tokenize(text, true);
const render = (messages) => [
  ...messages.flatMap(({ role, content }) => [
    ...mark(`<|im_start|>${role}\n`),
    ...model.tokenize(content, false),
    ...mark("<|im_end|>\n"),
  ]),
  ...mark("<|im_start|>assistant\n"),
];

async function complete({ messages, max_tokens: most }, sequence) {
  const asked = render(messages);
  const said = [];
  await sequence.clearHistory();
  for await (const token of sequence.evaluate(asked, { temperature: 0 })) { // until the token that ends an answer
    said.push(token);
    if (said.length >= most) break;
  }
  const ended = said.length >= most ? "length" : "stop";
  const message = { role: "assistant", content: model.detokenize(said) };
  return {
    choices: [{ index: 0, finish_reason: ended, message }],
    usage: { prompt_tokens: asked.length, completion_tokens: said.length },
  };
}

async function inTurn(wanted) {
  const sequence = free.pop() ?? (await new Promise((resolve) => waiting.push(resolve)));
  try {
    return await complete(wanted, sequence);
  } finally {
    const next = waiting.shift();
    if (next) next(sequence);
    else free.push(sequence);
  }
}

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  response.setHeader("content-type", "application/json");
  try {
    response.end(JSON.stringify(await inTurn(JSON.parse(Buffer.concat(parts).toString()))));
  } catch (error) {
    response.statusCode = error instanceof SyntaxError ? 400 : 500;
    response.end(JSON.stringify({ error: { message: String(error) } }));
  }
});
server.listen(Number(port), "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
