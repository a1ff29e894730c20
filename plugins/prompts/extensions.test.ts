import { afterEach, describe, expect, test } from 'vitest'
import { createMemoryRecords } from '#kernel/storage/memory-records'
import type { EventEnvelope } from '#test/kit/boot'
import type { ChatTurn } from '#test/kit/chat-server'
import { type DaemonClient, RestartBench } from '#test/kit/restart-bench'
import { OwnExtensions, withOwn } from './own-extensions.js'

let bench: RestartBench | undefined
afterEach(async () => {
  await bench?.close()
  bench = undefined
})

type Said = { readonly role: string; readonly content: string }
let respond: (said: readonly Said[]) => ChatTurn = () => ({ text: 'done' })
async function start(plugins: Readonly<Record<string, string>> = {}): Promise<DaemonClient> {
  respond = () => ({ text: 'done' })
  bench = await RestartBench.open({ plugins, respond: ({ body }) => respond(body?.messages as Said[]) })
  return bench.start()
}
const system = (): string => {
  const said = bench?.model.calls.at(-1)?.body?.messages as readonly Said[] | undefined
  const first = said?.[0]
  return first?.role === 'system' ? first.content : ''
}
const headers = () => [...system().matchAll(/^\[SECTION (.*)\]$/gm)].map(([, name]) => name)
const payloadsOf = (events: readonly EventEnvelope[], type: string) =>
  events.filter(event => event.type === type).map(({ payload }) => payload)

describe('skills', () => {
  const SKILLS = `
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { SKILLS } from '#contracts/ports'
const texts = { deploy: 'Deploy with care.', lint: 'Lint it.' }
export const plugin = definePlugin({
  name: 'some-skills',
  config: Type.Object({}),
  provides: [SKILLS],
  register(scope) {
    scope.provide(SKILLS, {
      async text(tenantId, name, { workspaceRoot }) {
        if (name === 'broken') throw new Error('its front matter is not YAML')
        return texts[name] && { text: texts[name] + ' In ' + workspaceRoot + ' of ' + tenantId + '.' }
      },
    })
  },
})
`
  test('stand in the prompt, each once in the order asked for; what cannot be had is a warning', async () => {
    const client = await start({ 'some-skills': SKILLS })
    const events = await client.run({
      prompt: 'hi',
      prompt_extensions: { talents: ['ui'], skills: ['lint', 'nope', 'deploy', 'broken', 'lint'], custom: 'Plainly.' },
    })
    expect(headers().slice(-4)).toEqual(['TALENT:ui', 'SKILL:lint', 'SKILL:deploy', 'CUSTOM'])
    expect(system()).toContain(
      `[SECTION SKILL:deploy]\nDeploy with care. In ${bench?.workspace} of default.\n[END SECTION]`,
    )
    expect(payloadsOf(events, 'prompt.resolved')[0]).toMatchObject({
      applied_skills: ['lint', 'deploy'],
      has_warnings: true,
    })
    expect(payloadsOf(events, 'prompt.warning').map(payload => [payload?.code, payload?.message])).toEqual([
      ['skill_resolve_failed', 'there is no skill "nope"'],
      ['skill_resolve_failed', 'the skill "broken" cannot be read: its front matter is not YAML'],
    ])
  })
})

describe('capability profiles', () => {
  const PROFILES = `
import { Type } from '@sinclair/typebox'
import { definePlugin } from '#contracts/plugin'
import { PROFILES } from '#contracts/ports'
export const plugin = definePlugin({
  name: 'some-profiles',
  config: Type.Object({}),
  provides: [PROFILES],
  register(scope) {
    scope.provide(PROFILES, { has: async (tenantId, name) => tenantId === 'default' && ['cautious', 'deepseek'].includes(name) })
  },
})
`
  const refusal = (name: string) => ({
    status: 400,
    body: {
      error: {
        code: 'invalid_request',
        message: `prompt_profile: ${name} is a capability profile; put it into "profile", and one of deepseek, openai_gpt5, autoresearch, default here`,
      },
    },
  })

  test.each(['full', 'researcher', 'reviewer', 'file-writer', 'bash-runner', 'github'])(
    '%s is refused as a prompt profile in every deployment',
    async name => {
      const client = await start()
      expect(await client.request('POST', '/v1/runs', { prompt: 'hi', prompt_profile: name })).toMatchObject(
        refusal(name),
      )
    },
  )

  test('so is what a plugin knows, also where a prompt profile has that name', async () => {
    const client = await start({ 'some-profiles': PROFILES })
    for (const name of ['cautious', 'deepseek', 'reviewer'])
      expect(await client.request('POST', '/v1/runs', { prompt: 'hi', prompt_profile: name })).toMatchObject(
        refusal(name),
      )
    const [resolved] = payloadsOf(await client.run({ prompt: 'hi', prompt_profile: 'autoresearch' }), 'prompt.resolved')
    expect(resolved).toMatchObject({ model_profile: 'autoresearch' })
  })
})

describe('create_prompt_extension', () => {
  /** Makes these calls, one a turn, after the tool was found. */
  const calling =
    (...calls: readonly object[]) =>
    (said: readonly Said[]): ChatTurn => {
      const done = said.filter(({ role }) => role === 'tool').length
      if (done === 0)
        return { toolCalls: [{ name: 'find_tool', arguments: { query: 'select:create_prompt_extension' } }] }
      const args = calls[done - 1]
      return args ? { toolCalls: [{ name: 'create_prompt_extension', arguments: args }] } : { text: 'done' }
    }
  const outputs = (events: readonly EventEnvelope[]) =>
    payloadsOf(events, 'tool.call.completed')
      .filter(payload => payload?.tool === 'create_prompt_extension')
      .map(payload => JSON.parse(payload?.output ?? payload?.error))
  const TERSE = { extension_type: 'behavior', name: 'terse', title: ' Say\nlittle ', content: 'Few words.' }
  const ask = (behavior: string, more: object = {}) => ({
    prompt: 'hi',
    prompt_extensions: { behaviors: [behavior], ...more },
  })

  test('what a run writes is there for later runs, also after a restart, and never takes the place of ours', async () => {
    let client = await start()
    const unknown = await client.request('POST', '/v1/runs', ask('terse'))
    expect(unknown.body.error.message).toBe(
      'prompt_extensions.behaviors[0]: there is no "terse"; there is precise, safe',
    )
    respond = calling(
      { ...TERSE, name: 'shy' },
      TERSE,
      TERSE,
      { ...TERSE, title: '', content: 'Fewer words.', overwrite: true },
      { ...TERSE, name: 'safe', overwrite: true },
      { extension_type: 'talent', name: 'terse', content: 'Poetry.' },
      { ...TERSE, name: '../x' },
    )
    expect(outputs(await client.run('write'))).toMatchObject([
      { status: 'created', extension_type: 'behavior', name: 'shy' },
      { status: 'created', extension_type: 'behavior', name: 'terse' },
      { error: { code: 'already_exists', message: expect.stringContaining('overwrite') } },
      { status: 'updated', extension_type: 'behavior', name: 'terse' },
      { error: { code: 'already_exists', message: 'safe is a behavior of the deployment; choose another name' } },
      { status: 'created', extension_type: 'talent', name: 'terse' },
      { error: expect.stringMatching(/^wrong arguments .*: name must be /) },
    ])
    client = await bench!.restart()
    respond = () => ({ text: 'done' })
    const events = await client.run(ask('shy', { behaviors: ['terse', 'shy'], talents: ['terse'] }))
    expect(headers().slice(-3)).toEqual(['BEHAVIOR:terse', 'BEHAVIOR:shy', 'TALENT:terse'])
    expect(system()).toContain('[SECTION BEHAVIOR:shy]\n# Say little\n\nFew words.\n[END SECTION]')
    expect(system()).toContain('[SECTION BEHAVIOR:terse]\nFewer words.\n[END SECTION]')
    expect(payloadsOf(events, 'prompt.resolved')[0]).toMatchObject({
      applied_behaviors: ['terse', 'shy'],
      applied_talents: ['terse'],
      has_warnings: false,
    })
    const refused = await client.request('POST', '/v1/runs', ask('terser'))
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      'prompt_extensions.behaviors[0]: there is no "terser"; there is precise, safe, shy, terse',
    ])
  })

  test('belongs to its tenant, which has at most 100 of a kind', async () => {
    const own = new OwnExtensions(createMemoryRecords())
    const save = (tenant: string, name: string) => own.save(tenant, 'talent', name, name, false)
    for (let n = 0; n < 100; n++) expect(await save('a', `t${n}`)).toEqual({ kind: 'created' })
    expect(await save('a', 't100')).toMatchObject({ kind: 'refused', code: 'too_many' })
    expect(await own.save('a', 'talent', 't7', 'new', true)).toEqual({ kind: 'updated' })
    expect(await save('b', 't0')).toEqual({ kind: 'created' })
    expect(await own.save('a', 'behavior', 't0', 'x', false)).toEqual({ kind: 'created' })
    expect(await own.names('b', 'talent')).toEqual(['t0'])
    const library = { behaviors: new Map(), talents: new Map([['t0', 'ours']]) } as never
    const found = await withOwn(library, own, 'a', { talents: ['t0', 't7', 'nope'], behaviors: ['t0'] })
    expect([[...found.talents], [...found.behaviors]]).toEqual([
      [
        ['t7', 'new'],
        ['t0', 'ours'],
      ],
      [['t0', 'x']],
    ])
    expect((await withOwn(library, own, 'b', { talents: ['t7'] })).talents.has('t7')).toBe(false)
  })
})
