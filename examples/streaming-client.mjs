#!/usr/bin/env node
// A client in one file and without packages: starts a run, shows its answer as it streams, and survives broken
// connections without losing or repeating anything.
//
//   node examples/streaming-client.mjs "Say hello" [base url]
//
// With auth on: SVC_TOKEN=<key>. The rules of the stream: each frame has an id; a new connection that names the last id
// it saw (Last-Event-ID) gets everything after it; the terminal event is the end.

const [prompt = 'Say hello', baseUrl = process.env.SVC_URL ?? 'http://127.0.0.1:8080'] = process.argv.slice(2)
const token = process.env.SVC_TOKEN
const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
const TERMINAL = { 'run.completed': 0, 'run.failed': 2, 'run.cancelled': 6 }
const GIVE_UP_AFTER_ATTEMPTS = 20

const started = await fetch(`${baseUrl}/v1/runs`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID(), ...authorization },
  body: JSON.stringify({ prompt, allow_fallback: true }),
})
if (!started.ok) throw new Error(`the run was refused: ${started.status} ${await started.text()}`)
const { run_id: runId } = await started.json()
console.error(`run ${runId}`)

for await (const event of follow(runId)) {
  const { type, payload } = event
  if (type === 'assistant.message.delta') process.stdout.write(payload.content)
  if (type === 'tool.call.started') console.error(`\n-> ${payload.tool} ${payload.arguments}`)
  if (type in TERMINAL) {
    process.stdout.write('\n')
    console.error(type === 'run.failed' ? `${type}: ${payload.error}` : type)
    process.exitCode = TERMINAL[type]
  }
}

/** Every event of the run, once and in order, over as many connections as it takes. */
async function* follow(id) {
  let lastEventId
  for (let attempt = 0; attempt < GIVE_UP_AFTER_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await new Promise(resolve => setTimeout(resolve, Math.min(250 * 2 ** attempt, 5000)))
    try {
      const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
      const answer = await fetch(`${baseUrl}/v1/runs/${id}/events`, { headers: { ...resume, ...authorization } })
      if (answer.status < 500 && !answer.ok) throw Object.assign(new Error(await answer.text()), { isFinal: true })
      if (!answer.ok) continue
      for await (const event of frames(answer.body)) {
        attempt = 0
        lastEventId = event.id
        yield event
        if (event.type in TERMINAL) return
      }
    } catch (error) {
      if (error.isFinal) throw error
      console.error(`\nthe stream broke (${error.message}); resuming after ${lastEventId ?? 'nothing'}`)
    }
  }
  throw new Error('the daemon is gone')
}

/** The envelopes of one connection: frames end with an empty line, `data:` lines hold the JSON, `:` lines are pings. */
async function* frames(body) {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    const whole = text.split('\n\n')
    text = whole.pop()
    for (const frame of whole) {
      const data = frame.split('\n').filter(line => line.startsWith('data: '))
      if (data.length > 0) yield JSON.parse(data.map(line => line.slice('data: '.length)).join('\n'))
    }
  }
}
