import { Type } from '@sinclair/typebox'
import { describe, expect, test } from 'vitest'
import { defineTool } from '#contracts/tool/tool'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { openPlugin } from '#test/kit/open-plugin'
import { plugin } from './index.js'
import { gateByLists, offerByLists } from './lists.js'

describePlugin(plugin, { dir: import.meta.dirname })

const tool = (name: string) =>
  defineTool({
    name,
    description: name,
    parameters: Type.Object({}),
    action: 'read',
    execute: async () => ({ output: '' }),
  })
const TOOLS = ['bash', 'ls', 'read', 'AskUserQuestion', 'find_tool', 'skill'].map(tool)

const runWith = (lists: { readonly allowedTools?: readonly string[]; readonly deniedTools?: readonly string[] }) =>
  fakeRun({ policy: { ...fakeRun().policy, deniedTools: [], ...lists } })
const offered = (lists: Parameters<typeof runWith>[0]) => offerByLists(TOOLS, runWith(lists)).map(({ name }) => name)

describe('the offer', () => {
  test('is everything without lists, and the very same array', () => {
    expect(offerByLists(TOOLS, runWith({}))).toBe(TOOLS)
  })

  test('is what is allowed and what is always there, without what is denied', () => {
    expect(offered({ allowedTools: ['ls', 'gone'] })).toEqual(['ls', 'AskUserQuestion', 'find_tool', 'skill'])
    expect(offered({ deniedTools: ['bash', 'skill'] })).toEqual(['ls', 'read', 'AskUserQuestion', 'find_tool'])
    expect(offered({ allowedTools: ['ls', 'read'], deniedTools: ['ls', 'find_tool'] })).toEqual([
      'read',
      'AskUserQuestion',
      'skill',
    ])
  })

  test('stays one array for one array, so that wires can cache it, and follows when the tools change', () => {
    const run = runWith({ allowedTools: ['ls'] })
    const first = offerByLists(TOOLS, run)
    expect(offerByLists(TOOLS, run)).toBe(first)
    expect(offerByLists([...TOOLS], run)).not.toBe(first)
  })
})

describe('the gate', () => {
  const reason = (name: string, lists: Parameters<typeof runWith>[0]) => {
    const verdict = gateByLists(name, runWith(lists))
    return verdict?.kind === 'deny' ? verdict.reason : verdict
  }

  test('stops what is denied before what is not allowed, offered or not', () => {
    expect(reason('bash', { deniedTools: ['bash'], allowedTools: ['ls'] })).toBe('tool_denied_for_run')
    expect(reason('bash', { allowedTools: ['ls'] })).toBe('tool_not_in_allowed_tools')
    expect(reason('unknown', { allowedTools: ['ls'] })).toBe('tool_not_in_allowed_tools')
  })

  test('has no opinion on the rest', () => {
    expect([
      reason('bash', {}),
      reason('ls', { allowedTools: ['ls'] }),
      reason('skill', { allowedTools: ['ls'] }),
    ]).toEqual([undefined, undefined, undefined])
  })

  test('is the first to speak', async () => {
    const opened = await openPlugin(plugin)
    const call = { call: { id: 'c', name: 'bash', arguments: '{}' }, tool: tool('bash'), args: {}, step: 1 }
    expect(await opened.hooks.toolGating.promise(call, runWith({ deniedTools: ['bash'] }))).toMatchObject({
      kind: 'deny',
    })
    await opened.close()
  })
})
