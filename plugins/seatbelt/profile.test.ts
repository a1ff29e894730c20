import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SandboxPolicy } from '#contracts/sandbox'
import { Profiles, parseListener } from './profile.js'
import { openStandIn, type StandIn } from './stand-in.js'
import { packageProfile, shellWords } from './wrapper.js'

let stand: StandIn
beforeAll(() => {
  stand = openStandIn()
})
afterAll(() => stand.close())

const LISTENER = { port: 8080, isLoopback: true }

const placeOf = () => {
  const [privateHome, temp, hostTemp] = ['home/.cache/runwright/homes/x', 'host-temp/session', 'host-temp'].map(name =>
    join(stand.base, name),
  ) as [string, string, string]
  for (const dir of [privateHome, temp]) mkdirSync(dir, { recursive: true })
  const path = ['/usr/bin', join(stand.home, '.nvm/versions/node/bin'), join(stand.home, '.cargo/bin')]
  return { home: stand.home, path, privateHome, temp, hostTemp: [hostTemp], hiddenPaths: [] }
}

/** What the profile says to an operation on a path: Seatbelt's rule is that the last one that matches decides. */
async function decider(changes: Partial<SandboxPolicy>, listener = LISTENER) {
  const answer = await new Profiles(listener).of({ ...stand.policy, ...changes }, placeOf())
  if (answer.kind !== 'profile') throw new Error(answer.reason)
  const text = answer.text.replace(/^;.*$/gm, '')
  const rules = text.split(/^(?=\((?:allow|deny) )/m).slice(1)
  return {
    text: answer.text,
    may(operation: string, path: string): boolean {
      let verdict = 'deny'
      for (const rule of rules) {
        const [, verb = '', operations = ''] = rule.match(/^\((allow|deny)((?: [a-z][a-z*-]*)+)/) ?? []
        const isMeant = operations
          .trim()
          .split(' ')
          .some(each => operation === each || (each.endsWith('*') && operation.startsWith(each.slice(0, -1))))
        if (isMeant && matches(rule, path)) verdict = verb
      }
      return verdict === 'allow'
    },
  }
}

function matches(rule: string, path: string): boolean {
  const filters = [...rule.matchAll(/\((subpath|literal|regex) ("(?:[^"\\]|\\.)*")\)/g)]
  if (filters.length === 0) return !/\((vnode-type|require-|remote|local|socket)/.test(rule)
  return filters.some(([, kind, quoted = '""']) => {
    const text: string = JSON.parse(quoted)
    if (kind === 'regex') return new RegExp(text).test(path)
    return path === text || (kind === 'subpath' && path.startsWith(text === '/' ? '/' : `${text}/`))
  })
}

const READ = 'file-read-data'
const WRITE = 'file-write-data'
const MOVE = 'file-write-unlink'

describe('scope workspace', () => {
  test.each(['allow', 'deny'] as const)('network %s: files', async network => {
    const { may } = await decider({ network, hiddenPaths: [join(stand.root, '.runwright')] })
    const inside = (path: string) => join(stand.root, path)
    const home = (path: string) => join(stand.home, path)
    const facts = {
      'reads and writes the workspace': [READ, WRITE, MOVE].map(operation => may(operation, inside('a/b'))),
      'neither reads nor writes what is hidden': [READ, WRITE, MOVE].map(each => may(each, inside('.runwright/db'))),
      'does not move it away': may(MOVE, inside('.runwright')),
      'reads hooks and config, writes them not': ['.git/hooks/x', '.git/config'].map(path => [
        may(READ, inside(path)),
        may(WRITE, inside(path)),
      ]),
      'does not redirect git': may(WRITE, inside('.git/commondir')),
      'writes the rest of a repository': may(WRITE, inside('.git/index')),
      'reads the system, writes it not': [may(READ, '/usr/bin/env'), may(WRITE, '/usr/bin/env')],
      'has no home of the user': [may(READ, home('.ssh/id')), may(READ, home('notes')), may(WRITE, home('.zshrc'))],
      'has its own': [READ, WRITE].map(each => may(each, home('.cache/runwright/homes/x/.npm/y'))),
      'runs toolchains of the home': [
        ...[may(READ, home('.nvm/versions/node/lib/x')), may(WRITE, home('.nvm/versions/node/lib/x'))],
        ...[may(READ, home('.cargo/bin/x')), may(READ, home('.rustup/x')), may(READ, home('.cargo/credentials'))],
      ],
      'has its own temporary files': [may(WRITE, join(stand.base, 'host-temp/session/x'))],
      'has not those of others': [may(READ, join(stand.base, 'host-temp/other'))],
    }
    expect(facts).toEqual({
      'reads and writes the workspace': [true, true, true],
      'neither reads nor writes what is hidden': [false, false, false],
      'does not move it away': false,
      'reads hooks and config, writes them not': [
        [true, false],
        [true, false],
      ],
      'does not redirect git': false,
      'writes the rest of a repository': true,
      'reads the system, writes it not': [true, false],
      'has no home of the user': [false, false, false],
      'has its own': [true, true],
      'runs toolchains of the home': [true, false, true, true, false],
      'has its own temporary files': [true],
      'has not those of others': [false],
    })
  })

  test('network allow: all but the daemon and the sockets of other programs', async () => {
    const { text } = await decider({ network: 'allow', hiddenPaths: [join(stand.root, '.runwright')] })
    const lines = text.split('\n').filter(line => /^\((allow|deny) network/.test(line))
    const socket = (verb: string, path: string) =>
      `(${verb} network-outbound (remote unix-socket (subpath ${JSON.stringify(path)})))`
    expect(lines.slice(0, 4)).toEqual([
      '(allow network*)',
      '(deny network-outbound (remote ip "localhost:8080"))',
      '(deny network-outbound (remote unix-socket (path-regex #"^/")))',
      socket('allow', '/private/var/run/mDNSResponder'),
    ])
    expect(lines).toContain(socket('allow', stand.root))
    expect(lines.at(-1)).toBe(socket('deny', join(stand.root, '.runwright')))
  })

  test('a daemon on all addresses keeps its port from every address', async () => {
    const { text } = await decider({ network: 'allow' }, { port: 9000, isLoopback: false })
    expect(text).toContain('(deny network-outbound (remote ip "*:9000"))')
  })

  test('network deny: no rule allows any', async () => {
    const { text } = await decider({})
    expect(text.split('\n').filter(line => line.startsWith('(allow network'))).toEqual([])
  })

  test('a workspace that is the home itself still hides the secrets in it', async () => {
    const { may } = await decider({ root: stand.home })
    const paths = ['notes', '.ssh/id', '.aws/credentials', 'Library/Keychains/login']
    expect(paths.map(path => may(READ, join(stand.home, path)))).toEqual([true, false, false, false])
    expect(paths.map(path => may(WRITE, join(stand.home, path)))).toEqual([true, false, false, false])
  })

  test('extra directories are workspace too', async () => {
    const extra = join(stand.base, 'extra')
    mkdirSync(extra)
    const { may } = await decider({ extraDirs: [extra] })
    expect([may(WRITE, join(extra, 'x')), may(WRITE, join(extra, '.git/hooks/x'))]).toEqual([true, false])
  })
})

test('scope local writes everything but what is hidden', async () => {
  const { may } = await decider({ scope: 'local', hiddenPaths: [join(stand.root, '.runwright')] })
  const open = [join(stand.home, '.ssh/id'), '/usr/local/x', '/repository/.git/hooks/x', join(stand.root, 'x')]
  expect(open.map(path => [may(READ, path), may(WRITE, path)])).toEqual(open.map(() => [true, true]))
  const hidden = join(stand.root, '.runwright/db')
  expect([may(READ, hidden), may(WRITE, hidden), may(MOVE, join(stand.root, '.runwright'))]).toEqual([
    false,
    false,
    false,
  ])
})

describe('plan mode', () => {
  const plan = (path = '.runwright/plan.md', shown = true): Partial<SandboxPolicy> => ({
    isReadOnly: true,
    writablePaths: [path],
    ...(shown && { shownPaths: [path] }),
    hiddenPaths: [join(stand.root, '.runwright')],
  })

  test('writes the plan file and nothing else of the workspace', async () => {
    const { may } = await decider(plan())
    const at = (path: string) => [may(READ, join(stand.root, path)), may(WRITE, join(stand.root, path))]
    expect([at('.runwright/plan.md'), at('.runwright/db'), at('src/a'), at('.git/hooks/x')]).toEqual([
      [true, true],
      [false, false],
      [true, false],
      [true, false],
    ])
  })

  test('opens no file in a hidden place that is not shown, outside, behind a link or under two names', async () => {
    writeFileSync(join(stand.root, 'twice'), '')
    linkSync(join(stand.root, 'twice'), join(stand.root, 'other-name'))
    symlinkSync('/etc', join(stand.root, 'link'))
    for (const path of ['../out', '/etc/hosts', 'link/hosts', 'twice']) {
      const { may } = await decider(plan(path, false))
      expect([path, may(WRITE, join(stand.root, path)), may(WRITE, '/etc/hosts')]).toEqual([path, false, false])
    }
    const { may } = await decider(plan('.runwright/plan.md', false))
    expect(may(WRITE, join(stand.root, '.runwright/plan.md'))).toBe(false)
  })
})

describe('odd paths', () => {
  test.each([
    'with space',
    'quo"te',
    "apo'strophe",
    'back\\slash',
    'paren)(allow default',
    '$HOME',
    '; semicolon',
    'ümläut',
  ])('of the name %s are one name', async name => {
    const root = join(stand.base, name)
    mkdirSync(root)
    const { may, text } = await decider({ root })
    expect([may(WRITE, join(root, 'x')), may(WRITE, join(stand.base, 'x'))]).toEqual([true, false])
    expect(text).toContain(`(subpath ${JSON.stringify(root)})`)
  })

  test.each(['st*r', 'wh?t', '[a]', 'line\nbreak', 'long'.repeat(60)])(
    'that cannot be said are refused: %j',
    async name => {
      const root = join(stand.base, name, ...(name.length > 200 ? [name, name, name] : []))
      mkdirSync(root, { recursive: true })
      const answer = await new Profiles(LISTENER).of({ ...stand.policy, root }, placeOf())
      expect(answer).toMatchObject({ kind: 'impossible', reason: expect.stringContaining(JSON.stringify(root)) })
    },
  )
})

test.each([
  ['127.0.0.1:8080', { port: 8080, isLoopback: true }],
  ['localhost:1', { port: 1, isLoopback: true }],
  ['[::1]:9', { port: 9, isLoopback: true }],
  ['0.0.0.0:80', { port: 80, isLoopback: false }],
  [':8080', { port: 8080, isLoopback: false }],
  ['[::]:8080', { port: 8080, isLoopback: false }],
  ['127.0.0.1:0', undefined],
])('the daemon listens on %s', (address, expected) => {
  expect(parseListener(address)).toEqual(expected)
})

test('what the package quotes is taken apart again', () => {
  expect(shellWords(`env A=1 '' 'two words' 'it'"'"'s' /x:y`)).toEqual(['env', 'A=1', '', 'two words', "it's", '/x:y'])
})

test('the same wish gives the same text', async () => {
  const wish = {
    isNetworkDenied: true,
    readConfig: { denyOnly: ['/a'] },
    writeConfig: { allowOnly: ['/b'], denyWithinAllow: [] },
  }
  expect(await packageProfile(wish)).toBe(await packageProfile(wish))
})
