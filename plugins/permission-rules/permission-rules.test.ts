import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { PendingCall, Verdict } from '#contracts/hooks'
import { WORKSPACE_FILES } from '#contracts/ports'
import type { PermissionRule, ToolApproval } from '#contracts/run/policy'
import type { ToolAction, ToolDefinition } from '#contracts/tool/tool'
import type { FilePlace, FileRefusal, WorkspaceFiles } from '#contracts/workspace-files'
import { type Booted, boot } from '#test/kit/boot'
import { describePlugin } from '#test/kit/describe-plugin'
import { fakeRun } from '#test/kit/fake-run'
import { type OpenPlugin, openPlugin } from '#test/kit/open-plugin'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

/** A file system with one link in it; the real one is tried over HTTP below. */
const files = {
  resolve: async (_access: unknown, path: string): Promise<FilePlace | FileRefusal> =>
    path.includes('..') || path.startsWith('/')
      ? { kind: 'refused', code: 'outside_workspace', path, message: 'outside' }
      : { kind: 'place', is: 'file', path: path.replace(/^\.\//, '').replace(/^link\b/, 'secret') },
} as unknown as WorkspaceFiles

const tool = (name: string, action: ToolAction = 'read'): ToolDefinition => ({
  name,
  action,
  description: name,
  parameters: Type.Object({}),
  ...(action !== 'execute' && { subject: args => ({ paths: (args as { paths: string[] }).paths }) }),
  execute: async () => ({ output: '' }),
})

describe('verdicts', () => {
  let opened: OpenPlugin
  afterEach(() => opened.close())

  async function judge(
    rules: readonly PermissionRule[],
    called: ToolDefinition,
    args: Readonly<Record<string, unknown>>,
    toolApproval: ToolApproval = 'full_auto',
  ): Promise<Verdict['kind'] | undefined> {
    opened = await openPlugin(plugin, { ports: [[WORKSPACE_FILES, files]] })
    const run = fakeRun()
    const call: PendingCall = { call: { id: 'c', name: called.name, arguments: '' }, tool: called, args, step: 1 }
    const verdict = await opened.hooks.toolJudging.promise(call, {
      ...run,
      policy: { ...run.policy, rules, toolApproval },
    })
    return verdict?.kind
  }
  const rule = (effect: PermissionRule['effect'], pattern: string): PermissionRule => ({ effect, pattern })
  const bash = tool('bash', 'execute')

  test.each<[string, readonly PermissionRule[], string, string | undefined]>([
    ['no rule', [], 'ls', undefined],
    ['a bare rule, whatever its case', [rule('deny', 'BASH')], 'ls', 'deny'],
    ['the more specific allow', [rule('deny', 'bash'), rule('allow', 'bash(git:*)')], 'git status', undefined],
    ['the more specific deny', [rule('deny', 'bash(git push:*)'), rule('allow', 'bash(git:*)')], 'git push x', 'deny'],
    ['the exact rule', [rule('deny', 'bash(git*)'), rule('allow', 'bash(git log)')], '/bin/git "log"', undefined],
    ['a tie', [rule('allow', 'bash(ls)'), rule('ask', 'bash(ls)')], 'ls', 'ask'],
    ['a tie with deny', [rule('ask', 'bash(ls)'), rule('deny', 'bash(ls)')], 'ls', 'deny'],
    ['a command hidden behind another', [rule('ask', 'bash'), rule('allow', 'bash(git:*)')], 'git log; rm x', 'ask'],
    ['a denied command in a substitution', [rule('deny', 'bash(rm:*)')], 'echo "$(/bin/rm x)"', 'deny'],
    ['all parts allowed', [rule('ask', 'bash'), rule('allow', 'bash(git:*)')], 'git add . && git log x', undefined],
    ['a denied command before a quote left open', [rule('deny', 'bash(rm:*)')], "rm x\necho it's", 'deny'],
    ['a denied command before a backslash', [rule('ask', 'bash(rm:*)')], 'rm x \\', 'ask'],
    ['a denied command behind a redirection', [rule('deny', 'bash(rm:*)')], '2>/dev/null rm x', 'deny'],
    ['a denied command behind an escaped quote', [rule('deny', 'bash(rm:*)')], `$'\\'' ; rm x; echo '`, 'deny'],
    ['two lines that read like one', [rule('ask', 'bash'), rule('allow', 'bash(echo rm x)')], 'echo\nrm x', 'ask'],
    ['a line end in a word', [rule('ask', 'bash'), rule('allow', 'bash(echo a\nb)')], "echo 'a\nb'\n", undefined],
    ['a quote left open: allowed by no pattern', [rule('ask', 'bash'), rule('allow', 'bash(*)')], 'echo "', 'ask'],
  ])('bash: %s', async (_, rules, command, expected) => {
    expect(await judge(rules, bash, { command })).toBe(expected)
  })

  test.each<[string, readonly PermissionRule[], readonly string[], string | undefined]>([
    ['allow covers every path', [rule('deny', 'edit'), rule('allow', 'edit(src/**)')], ['src/a', './src/b'], undefined],
    ['allow with one path outside', [rule('deny', 'edit'), rule('allow', 'edit(src/**)')], ['src/a', 'b'], 'deny'],
    ['deny by any path', [rule('deny', 'edit(secret/**)')], ['a', 'secret/b'], 'deny'],
    ['deny whatever the case', [rule('deny', 'edit(secret/**)')], ['SECRET/b'], 'deny'],
    ['allow minds the case', [rule('deny', 'edit'), rule('allow', 'edit(src/**)')], ['SRC/a'], 'deny'],
    ['deny through a link', [rule('deny', 'edit(secret/**)')], ['link/b'], 'deny'],
    ['deny of the link itself', [rule('deny', 'edit(link/**)')], ['link/b'], 'deny'],
    ['no allow through a link', [rule('deny', 'edit'), rule('allow', 'edit(link/**)')], ['link/b'], 'deny'],
    ['a path that leads outside', [rule('allow', 'edit(src/**)')], ['../x'], 'deny'],
    ['a path outside without argument rules', [rule('allow', 'edit')], ['../x'], undefined],
    ['no path at all', [rule('deny', 'edit'), rule('allow', 'edit(**)')], [], 'deny'],
  ])('paths: %s', async (_, rules, paths, expected) => {
    expect(await judge(rules, tool('edit', 'write'), { paths })).toBe(expected)
  })

  test('other tools are judged by their first text argument', async () => {
    const rules = [rule('deny', 'fetch(https://*.example.com/*)')]
    expect(await judge(rules, tool('fetch', 'fetch'), { url: 'https://a.example.com/x/y' })).toBe('deny')
    await opened.close()
    expect(await judge(rules, tool('fetch', 'fetch'), { url: 'https://example.org/' })).toBeUndefined()
  })

  test.each<[string, readonly PermissionRule[], ToolDefinition, string | undefined]>([
    ['asks where no rule matches', [], bash, 'ask'],
    ['lets what a rule allows pass', [rule('allow', 'bash')], bash, undefined],
    ['lets reading pass', [], tool('read'), undefined],
    ['lets listing pass', [], tool('ls', 'list'), undefined],
    ['keeps a deny', [rule('deny', 'bash')], bash, 'deny'],
  ])('permissions mode %s', async (_, rules, called, expected) => {
    expect(await judge(rules, called, { command: 'ls' }, 'permissions')).toBe(expected)
  })
})

describe('over HTTP', () => {
  let dir = ''
  let daemon: Booted
  const turns = [
    {
      tool_calls: [
        { id: 'c1', name: 'read', arguments: { path: 'open.txt' } },
        { id: 'c2', name: 'read', arguments: { path: 'alias.txt' } },
        { id: 'c3', name: 'write', arguments: { path: 'new.txt', content: 'x' } },
      ],
    },
    { content: 'done' },
  ]
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'runwright-rules-'))
    await mkdir(join(dir, 'workspace'))
    await writeFile(join(dir, 'workspace', 'open.txt'), 'open')
    await writeFile(join(dir, 'workspace', 'secret.txt'), 'secret')
    await symlink('secret.txt', join(dir, 'workspace', 'alias.txt'))
    daemon = await boot({ turns, dir })
  })
  afterAll(async () => {
    await daemon.stop()
    await rm(dir, { recursive: true })
  })

  test('rules of both places decide; asking without anybody to ask is a denial', async () => {
    const events = await daemon.run({
      prompt: 'go',
      allow_fallback: true,
      permissions: { rules: [{ pattern: 'read(secret.*)', effect: 'deny' }] },
      rules: [{ pattern: 'write(new.txt)', effect: 'deny' }],
    })
    const of = (type: string) => events.filter(event => event.type === type).map(({ payload }) => payload)
    expect(of('tool.call.blocked')).toMatchObject([
      { call_id: 'c2', reason: 'permission_rule_denied' },
      { call_id: 'c3', reason: 'permission_rule_denied' },
    ])
    expect(of('tool.call.completed')).toMatchObject([{ call_id: 'c1', output: expect.stringContaining('open') }])
  })

  test.each([
    [
      {
        rules: [
          { pattern: 'a', effect: 'ask' },
          { pattern: 'read(/x)', effect: 'deny' },
        ],
      },
      'rules[1].pattern',
    ],
    [{ permissions: { rules: [{ pattern: 'bash((x))', effect: 'deny' }] } }, 'permissions.rules[0].pattern'],
    [{ rules: [{ pattern: 'bash', effect: 'never' }] }, 'rules'],
    [{ rules: [{ pattern: '', effect: 'ask' }] }, 'rules'],
    [{ rules: 'bash' }, 'rules'],
  ])('%j is refused, naming %s', async (fields, field) => {
    const reply = await daemon.request('POST', '/v1/runs', { prompt: 'go', allow_fallback: true, ...fields })
    expect(reply).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
    expect(reply.body.error.message).toContain(field)
  })
})
