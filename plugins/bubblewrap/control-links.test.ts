import { lstatSync, mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type BenchPlace, openBenchPlace } from './bench-place.js'

/** A repository whose hooks, config or whole `.git` directory are links, as some tools for many repositories make them. */

let place: BenchPlace
let git = ''
beforeAll(() => {
  place = openBenchPlace()
  git = join(place.root, '.git')
})
afterAll(() => place.close())

beforeEach(() => {
  for (const name of ['.git', 'real', 'shared', 'later'])
    rmSync(join(place.root, name), { recursive: true, force: true })
  for (const dir of ['objects', 'refs']) mkdirSync(join(git, dir), { recursive: true })
  writeFileSync(join(git, 'HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(git, 'config'), '[core]\n')
  mkdirSync(join(place.root, 'shared'))
})

const EVIL = `
rm -rf .git/hooks .git/config
mkdir .git/hooks && echo evil >.git/hooks/pre-commit
echo evil >.git/config
mkdir -p shared && echo evil >shared/pre-commit
echo evil >>shared/config
mkdir -p later && echo evil >later/pre-commit
rm -f .git && mkdir .git && echo evil >.git/config
cat .git/hooks/pre-commit .git/config`

const CASES: readonly (readonly [name: string, plant: () => void])[] = [
  ['hooks that lead to a folder of the workspace', () => symlinkSync('../shared', join(git, 'hooks'))],
  ['hooks that lead outside', () => symlinkSync(place.outside, join(git, 'hooks'))],
  ['hooks that lead to what is not there yet', () => symlinkSync('../later', join(git, 'hooks'))],
  ['hooks that are a file', () => writeFileSync(join(git, 'hooks'), '')],
  [
    'a config that leads to a file of the workspace',
    () => {
      renameSync(join(git, 'config'), join(place.root, 'shared/config'))
      symlinkSync('../shared/config', join(git, 'config'))
    },
  ],
  [
    'a .git that leads to another directory of the workspace',
    () => {
      renameSync(git, join(place.root, 'real'))
      symlinkSync('real', git)
    },
  ],
  [
    'a .git that leads outside',
    () => {
      rmSync(git, { recursive: true })
      symlinkSync(place.outside, git)
    },
  ],
]

describe.each(CASES)('%s', (_, plant) => {
  test.each([true, false])('are neither replaced nor written, pinned: %s', async isPinned => {
    plant()
    const link = [git, join(git, 'hooks'), join(git, 'config')].find(path =>
      lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink(),
    )
    const target = link && readlinkSync(link)
    const exit = await place.run(EVIL, { isPinned })
    expect(exit.kind).toBe('exited')
    if (link) expect(readlinkSync(link)).toBe(target)
    const after = await place.run('cat .git/hooks/* .git/config', { isPinned })
    expect(after.output).not.toContain('evil')
  })
})

test('git still looks at a repository whose hooks are a link', async () => {
  symlinkSync('../shared', join(git, 'hooks'))
  writeFileSync(join(place.root, 'later'), '')
  const exit = await place.run('git -c safe.directory="*" status --porcelain')
  expect(exit).toMatchObject({ kind: 'exited', code: 0, output: expect.stringContaining('?? later') })
})
