// Records UI messages as the Vercel AI SDK assembles them: a real agent loop (streamText with tools, a
// scripted model), and the chunks of a stream for every state that a part can be in. Ids are given, so
// that recording again writes the same bytes.
//
//   npm install ai@7.0.173 && node record_ui_messages.mjs > ../data/support.ui_messages.json
import { jsonSchema, readUIMessageStream, simulateReadableStream, stepCountIs, streamText, tool, validateUIMessages } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const usage = { inputTokens: { total: 9, noCache: 9 }, outputTokens: { total: 5, text: 5 } };
const finish = reason => ({ type: 'finish', finishReason: { unified: reason, raw: reason }, usage });

function ids(prefix) {
  let n = 0;
  return () => `${prefix}-${++n}`;
}

// --- a real loop: reasoning, two tools in one step, an answer with sources and a file -------------
const scripted = [
  [
    { type: 'stream-start', warnings: [] },
    { type: 'reasoning-start', id: 'r1', providerMetadata: { anthropic: { signature: 'c2lnbmF0dXJl' } } },
    { type: 'reasoning-delta', id: 'r1', delta: 'Zuerst das Wetter in Zürich, ' },
    { type: 'reasoning-delta', id: 'r1', delta: 'dann der Wechselkurs. 🤔' },
    { type: 'reasoning-end', id: 'r1' },
    { type: 'tool-call', toolCallId: 'call-1', toolName: 'weather', input: '{"city":"Zürich","days":2}', providerMetadata: { openai: { itemId: 'fc_1' } } },
    { type: 'tool-call', toolCallId: 'call-2', toolName: 'rate', input: '{"from":"CHF","to":"JPY"}' },
    finish('tool-calls'),
  ],
  [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: 't1' },
    { type: 'text-delta', id: 't1', delta: 'Morgen 21,5 °C und sonnig ☀️. ' },
    { type: 'text-delta', id: 't1', delta: '100 CHF sind etwa 17 300 円.' },
    { type: 'text-end', id: 't1', providerMetadata: { openai: { itemId: 'msg_1', annotations: [] } } },
    { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.org/wetter?stadt=Z%C3%BCrich', title: 'Wetter' },
    { type: 'source', sourceType: 'document', id: 's2', mediaType: 'application/pdf', title: 'Kurse', filename: 'kurse.pdf', providerMetadata: { openai: { fileId: 'file_2' } } },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } },
    finish('stop'),
  ],
];
let call = 0;
const result = streamText({
  model: new MockLanguageModelV4({
    doStream: async () => ({ stream: simulateReadableStream({ chunks: scripted[call++], initialDelayInMs: null, chunkDelayInMs: null }) }),
  }),
  tools: {
    weather: tool({
      inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' }, days: { type: 'number' } } }),
      execute: async () => ({ celsius: [19, 21.5], sunny: true, warning: null }),
    }),
    rate: tool({
      inputSchema: jsonSchema({ type: 'object', properties: { from: { type: 'string' }, to: { type: 'string' } } }),
      execute: async () => { throw new Error('the exchange is closed'); },
    }),
  },
  stopWhen: stepCountIs(3),
  prompt: 'Wetter in Zürich?',
  _internal: { generateId: ids('id') },
});

async function assembled(stream) {
  let last;
  const seen = [];
  for await (const message of readUIMessageStream({ stream })) {
    last = message;
    seen.push(JSON.stringify(message));
  }
  return { last, seen: seen.map(text => JSON.parse(text)) };
}

const loop = await assembled(
  result.toUIMessageStream({
    sendReasoning: true,
    sendSources: true,
    generateMessageId: ids('msg'),
    messageMetadata: ({ part }) => (part.type === 'start' ? { model: 'scripted-1' } : part.type === 'finish' ? { totalTokens: 28 } : undefined),
    onError: error => String(error),
  }),
);

// --- every state of a part, from the chunks of a stream ---------------------------------------------
const chunks = [
  { type: 'start', messageId: 'states-1', messageMetadata: { page: 7 } },
  { type: 'start-step' },
  { type: 'custom', kind: 'openai.compaction', providerMetadata: { openai: { itemId: 'cmp_1' } } },
  { type: 'tool-input-start', toolCallId: 'a1', toolName: 'refund', title: 'Refund' },
  { type: 'tool-input-delta', toolCallId: 'a1', inputTextDelta: '{"order":"A-1001","cents":49' },
  { type: 'tool-input-delta', toolCallId: 'a1', inputTextDelta: '90}' },
  { type: 'tool-input-available', toolCallId: 'a1', toolName: 'refund', input: { order: 'A-1001', cents: 4990 }, title: 'Refund' },
  { type: 'tool-approval-request', approvalId: 'ap-1', toolCallId: 'a1' },
  { type: 'tool-approval-response', approvalId: 'ap-1', approved: true, reason: 'the receipt is there' },
  { type: 'tool-output-available', toolCallId: 'a1', output: { refunded: true } },
  { type: 'tool-input-available', toolCallId: 'a2', toolName: 'refund', input: { order: 'A-1002', cents: 1 } },
  { type: 'tool-approval-request', approvalId: 'ap-2', toolCallId: 'a2' },
  { type: 'tool-approval-response', approvalId: 'ap-2', approved: false, reason: 'no receipt' },
  { type: 'tool-output-denied', toolCallId: 'a2' },
  { type: 'tool-input-available', toolCallId: 'a3', toolName: 'refund', input: { order: 'A-1003' } },
  { type: 'tool-approval-request', approvalId: 'ap-3', toolCallId: 'a3' },
  { type: 'tool-input-error', toolCallId: 'a4', toolName: 'refund', input: 'no JSON {', errorText: 'invalid input' },
  { type: 'tool-input-available', toolCallId: 'd1', toolName: 'mcp__search', dynamic: true, input: { q: '荷物' }, providerExecuted: true },
  { type: 'tool-output-available', toolCallId: 'd1', dynamic: true, output: [{ hit: 1 }, null], preliminary: true },
  { type: 'tool-input-available', toolCallId: 'd2', toolName: 'mcp__search', dynamic: true, input: null },
  { type: 'tool-output-error', toolCallId: 'd2', dynamic: true, errorText: 'timed out' },
  { type: 'data-weather', id: 'w1', data: { city: 'Zürich', status: 'loading' } },
  { type: 'data-notification', data: 'saved', transient: false },
  { type: 'reasoning-file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' },
  { type: 'file', mediaType: 'text/plain', url: 'https://example.org/notes.txt' },
  { type: 'finish-step' },
  { type: 'start-step' },
  { type: 'tool-input-start', toolCallId: 's1', toolName: 'mcp__search', dynamic: true },
  { type: 'tool-input-delta', toolCallId: 's1', inputTextDelta: '{"q":"par' },
  { type: 'text-start', id: 't1' },
  { type: 'text-delta', id: 't1', delta: 'Half a sent' },
];
const states = await assembled(
  new ReadableStream({
    start(controller) {
      chunks.forEach(chunk => controller.enqueue(chunk));
      controller.close();
    },
  }),
);

const user = {
  id: 'user-1',
  role: 'user',
  metadata: { locale: 'de-CH' },
  parts: [
    { type: 'text', text: 'Wie wird das Wetter in Zürich? 👩‍👩‍👧' },
    { type: 'file', mediaType: 'image/jpeg', filename: 'beleg.jpg', url: 'data:image/jpeg;base64,/9j/4AAQ' },
    { type: 'file', mediaType: 'application/pdf', url: 'https://example.org/a.pdf', filename: 'a.pdf', providerReference: { openai: 'file-1' } },
  ],
};
const system = { id: 'system-1', role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] };

// Every message on its way, too: parts in the states that they pass through.
const messages = [system, user, ...loop.seen, ...states.seen];
const unique = [...new Map(messages.map(message => [JSON.stringify(message), message])).values()];
await validateUIMessages({ messages: JSON.parse(JSON.stringify(unique)) });
process.stdout.write(`[\n${unique.map(message => JSON.stringify(message)).join(",\n")}\n]\n`);
