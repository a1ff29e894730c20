import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { benchForEach } from './plan-bench.js'
import { fill, treeOf } from './tricks.js'

const bench = benchForEach()

describe('by tools only the plan file changes', () => {
  const FILES: readonly (readonly [string, string, object])[] = [
    ['write', 'write', { path: 'a.txt', content: 'x' }],
    ['write through a link', 'write', { path: 'link.md', content: 'x' }],
    ['edit', 'edit', { path: 'a.txt', old_text: 'one', new_text: 'two' }],
    ['apply_patch', 'apply_patch', { path: 'a.txt', find: 'one', replace: 'two' }],
    [
      'apply_patch of two',
      'apply_patch',
      { patch: '*** Begin Patch\n*** Add File: plan.md\n+x\n*** Add File: n.md\n+x\n*** End Patch' },
    ],
    [
      'apply_patch that moves',
      'apply_patch',
      { patch: '*** Begin Patch\n*** Update File: a.txt\n*** Move to: plan.md\n@@\n-one\n+two\n*** End Patch' },
    ],
  ]
  test.each(FILES)('%s', async (_, tool, args) => {
    const { workspace, until } = await bench.start()
    fill(workspace)
    symlinkSync('a.txt', join(workspace, 'link.md'))
    const before = treeOf(workspace)
    bench.calling([[tool, args]])
    const { id } = await bench.planUntilExit({ plan_file: 'plan.md' })
    const done = await until(id, 'tool.call.completed')
    expect(JSON.parse(done.payload?.output).error).toMatchObject({ code: 'plan_mode_denied', tool, allowed: false })
    expect(treeOf(workspace)).toEqual(before)
    await bench.cancel(id)
  })

  test.each([
    ['a link inside', () => 'a.txt'],
    ['a link outside', () => mkdtempSync(join(tmpdir(), 'runwright-plan-'))],
    ['a link to nothing', () => 'nothing'],
  ])('a plan file that is %s is written by nobody', async (_, lead) => {
    const { workspace } = await bench.start()
    fill(workspace)
    const outside = lead()
    const target = outside.startsWith('/') ? join(outside, 'victim') : outside
    if (target !== outside) writeFileSync(target, 'untouched')
    symlinkSync(target, join(workspace, 'plan.md'))
    const before = treeOf(workspace)
    bench.calling([
      ['bash', { command: 'echo x >plan.md; echo x >>a.txt' }],
      ['write', { path: 'plan.md', content: 'x' }],
    ])
    const { id } = await bench.planUntilExit({ plan_file: 'plan.md' })
    expect(treeOf(workspace)).toEqual(before)
    if (target !== outside) {
      expect(readFileSync(target, 'utf8')).toBe('untouched')
      await rm(outside, { recursive: true })
    }
    await bench.cancel(id)
  })

  test('the default plan file is read and written by tools and commands, and nothing beside it is seen', async () => {
    const { workspace, events } = await bench.start()
    mkdirSync(join(workspace, '.runwright'), { recursive: true })
    writeFileSync(join(workspace, '.runwright/secret'), 'CANARY')
    const calls: (readonly [string, object])[] = [
      ['write', { path: '.runwright/plan.md', content: 'by the tool\n' }],
      ['bash', { command: 'echo by bash >>.runwright/plan.md; cat .runwright/*; ls -a .runwright' }],
      ['read', { path: '.runwright/plan.md' }],
      ['read', { path: '.runwright/secret' }],
      ['ls', { path: '.runwright' }],
      ['ls', { path: '.' }],
      ['glob', { pattern: '**/secret' }],
      ['grep', { pattern: 'CANARY', path: '.runwright' }],
      ['write', { path: '.runwright/other', content: 'x' }],
    ]
    bench.calling(calls)
    const { id, required } = await bench.planUntilExit()
    expect(JSON.parse(required.payload?.arguments).plan).toBe('by the tool\nby bash\n')
    await bench.cancel(id)
    const outputs = (await events(id)).filter(({ type }) => type === 'tool.call.completed').map(e => e.payload?.output)
    expect(outputs).toHaveLength(calls.length)
    expect(outputs.join()).not.toMatch(/CANARY[^"]|"secret"|\.runwright\/secret:/)
    expect(outputs[2]).toContain('by bash')
    for (const index of [3, 4, 7]) expect(outputs[index]).toContain('protected_path')
    expect(readdirSync(join(workspace, '.runwright')).sort()).not.toContain('other')
  })
})
