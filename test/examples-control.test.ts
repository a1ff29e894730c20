import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SCRIPT = join(resolve(import.meta.dirname, '../..'), 'examples/control/walkthrough.sh')

test('the walk-through of a run under control shows each step working, and leaves nothing behind', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'runwright-control-'))
  try {
    const env = { PATH: process.env.PATH ?? '', HOME: dir, TMPDIR: dir }
    const { code, out, err } = await new Promise<{ code: unknown; out: string; err: string }>(done => {
      execFile('sh', [SCRIPT], { env, cwd: dir }, (error, stdout, stderr) =>
        done({ code: error?.code ?? 0, out: stdout, err: stderr }),
      )
    })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const parts = out.split(/\n# (?=(?:Approve|Deny|Question|Plan: nothing|Steer|Continue):?)/)
    const part = (name: string): string => parts.find(text => text.startsWith(name)) ?? ''
    expect(out.match(/\(exit code 3\)/g)).toHaveLength(4)
    expect(part('Approve:')).toMatch(/\napproved\n[\s\S]*holds the greeting\.\n\$ cat .*\nHello, world!\n/)
    expect(part('Deny:')).toMatch(/\ndenied\n[\s\S]*stays as it is\.\n\$ cat .*\nHello, world!\n/)
    expect(part('Question:')).toMatch(/asked: {4}Which colour\? \(Red \| Blue\)\n[\s\S]*\naccepted\n[\s\S]*is settled/)
    expect(part('Plan:')).toMatch(
      /--option a {2}# Short\n[\s\S]*\napproved\n[\s\S]*bye\.txt is there\.\n\$ cat .*\nBye\.\n/,
    )
    expect(part('Steer:')).toMatch(
      /\naccepted\n[\s\S]*» One sentence will do\.\n\nIn one sentence[\s\S]*\[>\] look at the/,
    )
    expect(part('Continue:')).toMatch(/continues a conversation of \d+ messages\n\nUnd auf Deutsch/)
    expect(await readdir(dir)).toEqual([])
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}, 60_000)
