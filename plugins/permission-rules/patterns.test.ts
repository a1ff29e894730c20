import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pathGlob } from './path-glob.js'
import { parseRulePattern } from './rule-pattern.js'
import { strongest } from './rules.js'
import { parseShellCommand } from './shell-words.js'
import { textGlob } from './text-glob.js'

const read = (text: string) => {
  const pattern = parseRulePattern(text)
  if (typeof pattern === 'string') throw new Error(pattern)
  return pattern
}
const path = (pattern: string) => {
  const glob = pathGlob(pattern)
  if (typeof glob === 'string') throw new Error(glob)
  return glob
}

describe('patterns', () => {
  test.each([
    ['bash', 0],
    ['BASH', 0],
    ['bash(git push)', 1_000_009],
    ['bash(git push:*)', 10],
    ['bash(git push *)', 10],
    ['bash(*)', 1],
    ['read(./src/**/a?.ts)', 10],
    ['read(src/[abc].ts)', 8],
    ['read(src/a.ts)', 1_000_009],
    ['fetch(what? [x])', 1_000_010],
  ])('%s weighs %d', (text, specificity) => {
    expect(read(text).specificity).toBe(specificity)
  })

  test.each([
    'bash()',
    'bash(',
    'bash(a(b))',
    'ba sh',
    ' bash',
    '(x)',
    'bash(a)b',
    'read(/etc/passwd)',
    'read(../x)',
    'edit(src/../x)',
    'write(./)',
    'read(src/[ab)',
    `read(${'*a'.repeat(101)})`,
  ])('%j is refused', text => {
    expect(typeof parseRulePattern(text)).toBe('string')
  })

  test('weight grows with every character that stands for itself, and a pattern without wildcards beats all with one', () => {
    const literal = fc.stringMatching(/^[a-z /-]{1,40}$/)
    fc.assert(
      fc.property(literal, literal, fc.constantFrom('*', ':*'), (a, b, wildcard) => {
        const short = read(`bash(${a}${wildcard})`)
        const long = read(`bash(${a}${b}${wildcard})`)
        expect(long.specificity).toBe(short.specificity + b.length)
        expect(read(`bash(${a})`).specificity).toBeGreaterThan(long.specificity)
        expect(short.specificity).toBeGreaterThan(read('bash').specificity)
      }),
    )
  })

  test('the most specific rule wins whatever the order, and among equals deny before ask before allow', () => {
    const rule = fc.record({
      specificity: fc.integer({ min: 0, max: 3 }),
      effect: fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const),
    })
    const rank = { allow: 0, ask: 1, deny: 2 }
    fc.assert(
      fc.property(fc.array(rule, { minLength: 1 }), rules => {
        const best = rules.toSorted((a, b) => b.specificity - a.specificity || rank[b.effect] - rank[a.effect])[0]
        expect(strongest(rules)).toEqual(best)
        expect(strongest(rules.toReversed())).toEqual(best)
      }),
    )
    expect(strongest([])).toBeUndefined()
  })
})

describe('path globs', () => {
  test.each([
    ['src/*', 'src/a.ts', true],
    ['src/*', 'src/a/b.ts', false],
    ['src/*', 'src/', true],
    ['src/**', 'src/a/b.ts', true],
    ['src/**', 'src', false],
    ['**', 'a/b/c', true],
    ['**/a.ts', 'a.ts', true],
    ['**/a.ts', 'x/y/a.ts', true],
    ['**/a.ts', 'xa.ts', false],
    ['src/**/a.ts', 'src/a.ts', true],
    ['src/**/a.ts', 'src/x/y/a.ts', true],
    ['src/**/a.ts', 'srcx/a.ts', false],
    ['src/**.ts', 'src/x/a.ts', true],
    ['a?.ts', 'ab.ts', true],
    ['a?b', 'a/b', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[!a]x', '/x', false],
    ['[]]x', ']x', true],
    ['a.b', 'axb', false],
    ['(x', '(x', true],
  ])('%s against %s: %s', (pattern, text, expected) => {
    expect(path(pattern).matches(text)).toBe(expected)
  })

  /** The same meaning, said as a regular expression. */
  const oracle = (pattern: string): RegExp => {
    const source = pattern
      .replace(/[.+^$|]/g, '\\$&')
      .replace(/(^|\/)\*\*\//g, '$1§')
      .replace(/\*{2,}/g, '¶')
      .replace(/\*/g, '[^/]*')
      .replace(/\?/g, '[^/]')
      .replace(/§/g, '(?:.*/)?')
      .replace(/¶/g, '.*')
    return new RegExp(`^${source}$`)
  }

  test('agree with their regular expression', () => {
    const pattern = fc
      .array(fc.constantFrom('a', 'b', '/', '*', '**', '?', '.', '**/'), { minLength: 1, maxLength: 8 })
      .map(parts => parts.join(''))
      // Two whole segments `**` in a row read differently in the crude translation.
      .filter(text => !/\*{3,}|\*\*\/\*\*/.test(text))
    const text = fc.array(fc.constantFrom('a', 'b', '/', '.'), { maxLength: 8 }).map(parts => parts.join(''))
    fc.assert(
      fc.property(pattern, text, (glob, given) => {
        expect(path(glob).matches(given)).toBe(oracle(glob).test(given))
      }),
      { numRuns: 5000 },
    )
  })

  test('no pattern makes a comparison hang', () => {
    const before = process.cpuUsage()
    expect(path(`${'*a'.repeat(49)}**b`).matches('a'.repeat(4096))).toBe(false)
    expect(textGlob(`${'*a'.repeat(2000)}b`).matches('a'.repeat(100_000))).toBe(false)
    const half = 'a'.repeat(2000)
    for (let rule = 0; rule < 50; rule++) expect(textGlob(`*${half}b${half}*`).matches('a'.repeat(100_000))).toBe(false)
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000)
  })
})

test('in other patterns only the star is special, and it stands for anything', () => {
  const piece = fc.constantFrom('a', 'b', ' ', '?', '[', '/', '*')
  const text = fc.array(piece, { maxLength: 8 }).map(parts => parts.join(''))
  fc.assert(
    fc.property(text, text, (pattern, given) => {
      const source = pattern.replace(/[?[\]/]/g, '\\$&').replaceAll('*', '.*')
      expect(textGlob(pattern).matches(given)).toBe(new RegExp(`^${source}$`, 's').test(given))
    }),
    { numRuns: 5000 },
  )
})

describe('commands', () => {
  test.each([
    ['git  push origin', 'git push origin', ['git push origin']],
    [`/usr/bin/git 'push' "ori"gin`, 'git push origin', ['git push origin']],
    ['echo a\\ b', 'echo a b', ['echo a b']],
    [`echo "a\\n\\"b"`, 'echo a\\n"b', ['echo a\\n"b']],
    ['git status; rm -rf x', 'git status; rm -rf x', ['git status', 'rm -rf x']],
    ['a && b || c | d & e', 'a && b || c | d & e', ['a', 'b', 'c', 'd', 'e']],
    ['a\nb', 'a b', ['a', 'b']],
    ['npm test 2>&1', 'npm test 2>&1', ['npm test 2>&1']],
    ['a &> log', 'a &> log', ['a &> log']],
    ['echo $(rm x) y', 'echo $(rm x) y', ['echo', 'rm x', 'y']],
    ['echo "$(rm x) y" z', 'echo $(rm x) y z', ['echo ', 'rm x', ' y z']],
    ['echo `rm x` y', 'echo `rm x` y', ['echo', 'rm x', 'y']],
    ['echo "`rm x`" y', 'echo `rm x` y', ['echo ', 'rm x', 'y']],
    [`echo '$(rm x); b'`, 'echo $(rm x); b', ['echo $(rm x); b']],
    ['FOO=1 /bin/rm x', 'FOO=1 /bin/rm x', ['rm x']],
    ['if true; then rm x; fi', 'if true; then rm x; fi', ['true', 'rm x']],
    ["a # it's", 'a', ['a']],
    ['>log 2> err </dev/null rm x', '>log 2> err </dev/null rm x', ['rm x']],
    ['coproc rm x', 'coproc rm x', ['rm x']],
    [`$'rm' $"x"`, 'rm x', ['rm x']],
    [`$'\\x72\\155' x`, 'rm x', ['rm x']],
    [`echo $'\\'' ; rm x; echo ''`, "echo ' ; rm x; echo ", ["echo '", 'rm x', 'echo ']],
    ['', '', []],
  ])('%j', (command, text, parts) => {
    expect(parseShellCommand(command)).toEqual({ text, parts, isComplete: true })
  })

  test.each([
    ['echo "a', ['echo a']],
    ["rm x\necho it's", ['rm x', 'echo its']],
    ['rm x \\', ['rm x \\']],
  ])('%j is left open; what a shell would still run of it is seen', (command, parts) => {
    expect(parseShellCommand(command)).toMatchObject({ parts, isComplete: false })
  })

  test('words survive any quoting', () => {
    const word = fc.stringMatching(/^[a-z;&|$ "#*-]{1,10}$/)
    const quoted = (text: string, how: number): string =>
      how === 0 ? `'${text}'` : how === 1 ? `"${text.replace(/[$"\\]/g, '\\$&')}"` : text.replace(/[^a-z]/g, '\\$&')
    fc.assert(
      fc.property(fc.array(fc.tuple(word, fc.integer({ min: 0, max: 2 })), { minLength: 1 }), words => {
        const command = words.map(([text, how]) => quoted(text, how)).join(' ')
        expect(parseShellCommand(command).text).toBe(words.map(([text]) => text).join(' '))
        expect(parseShellCommand(command).parts).toHaveLength(1)
      }),
    )
  })
})
