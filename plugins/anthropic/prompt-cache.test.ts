import { expect, test } from 'vitest'
import type { Message } from '#contracts/run/message'
import { type MessagesBody, objections } from '#test/kit/messages-rules'
import { modelRequest } from '#test/kit/model-turn'
import { type CacheUse, PromptCache } from '#test/kit/prompt-cache'
import { RequestBodyWriter } from './request-body.js'

const FACTS = { model: 'claude-x', maxTokens: 100, hasParallelToolCalls: true }
const TOOLS = ['ls', 'read'].map(name => ({ name, description: name, parameters: { type: 'object', properties: {} } }))
const MARK = ',"cache_control":{"type":"ephemeral"}'

/** A run of steps, each with so many parallel calls; the transcript grows, the runtime context changes every time. */
function* runOf(callsPerStep: readonly number[], extra: (step: number) => readonly Message[] = () => []) {
  const messages: Message[] = [{ role: 'user', content: 'do the task' }]
  for (const [step, count] of callsPerStep.entries()) {
    const trailing: Message[] = [{ role: 'system', content: `step ${step} of this run`, is_meta: true }]
    yield modelRequest({ system: 'be brief', tools: TOOLS, messages: [...messages], trailing, step })
    const ids = Array.from({ length: count }, (_, index) => `call_${step}_${index}`)
    messages.push({
      role: 'assistant',
      content: `step ${step}`,
      tool_calls: ids.map(id => ({ id, name: 'ls', arguments: '{"path":"."}' })),
    })
    for (const id of ids) messages.push({ role: 'tool', content: `result of ${id}`, tool_call_id: id, name: 'ls' })
    messages.push(...extra(step))
  }
}

const writer = new RequestBodyWriter()
const written = (requests: Iterable<ReturnType<typeof modelRequest>>): readonly string[] =>
  [...requests].map(request => writer.write(request, FACTS).toString('utf8'))

const uses = (bodies: readonly string[]): readonly CacheUse[] => {
  const cache = new PromptCache()
  return bodies.map(body => cache.use(JSON.parse(body) as MessagesBody))
}

/** All that a step cached is read by the next one. */
function expectEachStepToReadTheOneBefore(bodies: readonly string[]): void {
  for (const body of bodies) expect(objections(JSON.parse(body))).toEqual([])
  const steps = uses(bodies)
  for (const [index, { read }] of steps.entries()) {
    const before = steps[index - 1]
    expect(read).toBe(before === undefined ? 0 : before.read + before.written)
  }
}

test('over five steps the cached part is the same to the byte, and each step reads all that the step before cached', () => {
  const bodies = written(runOf([1, 2, 3, 1, 1]))
  // What the first marks of a request enclose, without the marks, begins the next request.
  for (const [index, body] of bodies.slice(1).entries()) {
    const before = bodies[index] ?? ''
    const cached = before.slice(0, before.lastIndexOf(MARK)).replaceAll(MARK, '')
    expect(body.replaceAll(MARK, '').startsWith(cached)).toBe(true)
    expect(cached).toContain('do the task')
    expect(cached).not.toContain('of this run')
  }
  expectEachStepToReadTheOneBefore(bodies)
  for (const { plain, written } of uses(bodies)) {
    expect(plain).toBeLessThan(25)
    expect(written).toBeGreaterThan(0)
  }
})

test('a step with more calls than the cache looks back over is read as well', () => {
  expectEachStepToReadTheOneBefore(written(runOf([30, 25, 60, 1, 1])))
})

test('words of the user, notes and empty answers between the steps change nothing', () => {
  const between: readonly (readonly Message[])[] = [
    [{ role: 'user', content: 'faster', is_meta: true }],
    [{ role: 'system', content: 'a rule', is_meta: true }],
    [
      { role: 'assistant', content: '' },
      { role: 'user', content: 'you said nothing', is_meta: true },
    ],
    [],
    [],
  ]
  expectEachStepToReadTheOneBefore(written(runOf([1, 1, 1, 1, 1], step => between[step] ?? [])))
})

test('another run with the same tools and system prompt reads both, one with another system prompt the tools', () => {
  const [first, other, third] = written([
    modelRequest({ tools: TOOLS, messages: [{ role: 'user', content: 'one' }] }),
    modelRequest({ tools: TOOLS, messages: [{ role: 'user', content: 'two' }] }),
    modelRequest({ tools: TOOLS, system: 'be verbose', messages: [{ role: 'user', content: 'three' }] }),
  ])
  const [, again, tools] = uses([first!, other!, third!])
  expect(again?.read).toBeGreaterThan(tools?.read ?? 0)
  expect(tools?.read).toBeGreaterThan(0)
})

test('without tools nothing is cached: no step follows that would read it', () => {
  const [body] = written([modelRequest({ system: 'summarise', messages: [{ role: 'user', content: 'a long text' }] })])
  expect(body).not.toContain('cache_control')
})

test('a message is serialised once in its life', () => {
  let reads = 0
  const counted: Message = {
    role: 'user',
    get content() {
      reads++
      return 'hello'
    },
  }
  const request = modelRequest({ messages: [counted] })
  const own = new RequestBodyWriter()
  expect(own.write(request, FACTS)).toEqual(own.write({ ...request, step: 2 }, FACTS))
  expect(reads).toBe(1)
})
