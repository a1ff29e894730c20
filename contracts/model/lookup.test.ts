import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inheritModels, MAX_ALIAS_HOPS, resolveAlias } from './lookup.js'
import type { ProviderEntry } from './provider.js'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', '__proto__', 'constructor', 'toString']
const name = fc.constantFrom(...NAMES)
const model = { context_window: 1 }

/** A graph of names: some are models, most point at another name. Few models, so that chains get long. */
const graph = fc.record({
  models: fc.uniqueArray(name, { maxLength: 3 }),
  aliases: fc.uniqueArray(fc.tuple(name, name), { selector: ([from]) => from, maxLength: NAMES.length }),
})

const tableOf = <T>(rows: readonly (readonly [string, T])[]): Record<string, T> => Object.fromEntries(rows)

test('any graph of aliases ends: at the model it leads to, or with nothing for loops, dead ends and long ways', () => {
  fc.assert(
    fc.property(graph, name, ({ models, aliases }, wanted) => {
      const way = [wanted]
      for (let next: string | undefined = wanted; next !== undefined && way.length <= 2 * NAMES.length; ) {
        if (models.includes(next)) break
        const at: string = next
        next = aliases.find(([from]) => from === at)?.[1]
        if (next !== undefined) way.push(next)
      }
      const hops = way.length - 1
      const end = way.at(-1) as string
      const expected = models.includes(end) && hops <= MAX_ALIAS_HOPS ? end : undefined
      const known = { models: tableOf(models.map(id => [id, model] as const)), aliases: tableOf(aliases) }
      expect(resolveAlias(known, wanted)).toBe(expected)
    }),
    { numRuns: 5000 },
  )
})

test('eight hops lead to the model, nine do not', () => {
  const chain = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`n${index}`, `n${index + 1}`]))
  const known = { models: { n9: model }, aliases: chain }
  expect([resolveAlias(known, 'n1'), resolveAlias(known, 'n0')]).toEqual(['n9', undefined])
})

test('a model with the name of an alias is the model', () => {
  expect(resolveAlias({ models: { a: model, b: model }, aliases: { a: 'b' } }, 'a')).toBe('a')
})

const entry = (more: Partial<ProviderEntry>): ProviderEntry => ({
  base_url: 'https://x.example',
  protocol: 'small',
  models: {},
  ...more,
})

test('models come from another provider, its own first; aliases only where it has none', () => {
  const providers: Record<string, ProviderEntry> = {
    base: entry({ models: { a: model, b: model }, aliases: { one: 'a' } }),
    middle: entry({ models_from: 'base', models: { b: { context_window: 2 } } }),
    top: entry({ models_from: 'middle', aliases: { two: 'b' } }),
  }
  const find = (of: string) => providers[of]
  expect(inheritModels(providers.middle!, find)).toEqual({
    models: { a: model, b: { context_window: 2 } },
    aliases: { one: 'a' },
  })
  expect(inheritModels(providers.top!, find)?.aliases).toEqual({ two: 'b' })
})

test('a circle and a provider that is not there give nothing', () => {
  const providers: Record<string, ProviderEntry> = {
    a: entry({ models_from: 'b' }),
    b: entry({ models_from: 'a', models: { m: model } }),
    c: entry({ models_from: 'nobody' }),
    d: entry({ models_from: 'd' }),
  }
  for (const each of Object.values(providers)) expect(inheritModels(each, of => providers[of])).toBeUndefined()
})
