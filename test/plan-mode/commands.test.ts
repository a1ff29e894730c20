import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { benchForEach, PLAN, resultsOf } from './plan-bench.js'
import { fill, TRICKS, treeOf } from './tricks.js'

const bench = benchForEach()

describe('by commands only the plan file changes', () => {
  test.each(['workspace', 'local', 'unrestricted'])(
    'admitted with sandbox %s',
    async sandbox => {
      const { workspace, events, request } = await bench.start()
      fill(workspace)
      const before = treeOf(workspace)
      const changed: string[] = []
      let seen = before
      const calls = TRICKS.map(([, command]) => ['bash', { command }] as const)
      bench.respond = messages => {
        const done = resultsOf(messages).length
        const now = treeOf(workspace)
        if (JSON.stringify(now) !== JSON.stringify(seen)) changed.push(TRICKS[done - 1]?.[0] ?? 'the plan')
        seen = now
        const [name, args] = calls[done] ?? ['bash', { command: 'echo planned >plan.md' }]
        return done > calls.length ? { text: PLAN } : { toolCalls: [{ id: `call_${done}`, name, arguments: args }] }
      }
      const { id, required } = await bench.planUntilExit({ plan_file: 'plan.md', permissions: { sandbox } })
      expect(changed).toEqual([])
      expect(treeOf(workspace)).toEqual(before)
      expect(readFileSync(join(workspace, 'plan.md'), 'utf8')).toBe('planned\n')
      expect(JSON.parse(required.payload?.arguments).plan).toBe('planned\n')
      await request('POST', `/v1/runs/${id}/approve`)
      expect((await events(id)).filter(({ type }) => type === 'tool.call.completed')).toHaveLength(TRICKS.length + 1)
    },
    120_000,
  )

  test('each of these does write in a run that does not plan', async () => {
    const { run, workspace } = await bench.start()
    const idle: string[] = []
    for (const [name, command] of TRICKS) {
      for (const path of readdirSync(workspace)) await rm(join(workspace, path), { recursive: true })
      fill(workspace)
      const before = JSON.stringify(treeOf(workspace))
      bench.calling([['bash', { command }]])
      await run({ prompt: 'p', permissions: { sandbox: 'unrestricted' } })
      if (JSON.stringify(treeOf(workspace)) === before && !existsSync(join(workspace, 'plan.md'))) idle.push(name)
    }
    expect(idle).toEqual([])
  }, 120_000)

  test('the daemon cannot be asked to approve the plan', async () => {
    const { url } = await bench.start()
    bench.calling([
      [
        'bash',
        {
          command: `node -e 'fetch("${url}/healthz").then(r=>console.log("REACHED",r.status),()=>console.log("closed"))'`,
        },
      ],
    ])
    const { id } = await bench.planUntilExit({ permissions: { network: 'allow' } })
    const result = (await bench.live?.request('GET', `/v1/runs/${id}`))?.body
    expect(result.status).toBe('waiting_for_approval')
    const output = await bench.live?.until(id, 'tool.call.completed')
    expect(output?.payload?.output).toContain('closed')
    await bench.cancel(id)
  })
})
