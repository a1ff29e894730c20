import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readListedModels } from './listed-models.js'

test('a list is read as the vendors write it', () => {
  const aggregator = {
    id: 'vendor/model',
    name: 'Vendor: Model',
    context_length: 131_072,
    top_provider: { context_length: 100_000, max_completion_tokens: 16_384 },
    pricing: { prompt: '0.00000015', completion: '0.0000006', image: '0.002' },
    architecture: { input_modalities: ['text', 'image'], modality: 'text+image->text' },
  }
  const messages = { type: 'model', id: 'opus', display_name: 'Opus', max_input_tokens: 200_000, max_tokens: 32_000 }
  const plain = { id: 'gpt', object: 'model', created: 1, owned_by: 'x' }
  expect(readListedModels({ data: [aggregator, messages, plain] }, '')).toEqual([
    {
      id: 'vendor/model',
      displayName: 'Vendor: Model',
      contextWindow: 131_072,
      maxOutputTokens: 16_384,
      inputPerMillionUsd: 0.15,
      outputPerMillionUsd: 0.6,
      modalities: ['text', 'image'],
    },
    { id: 'opus', displayName: 'Opus', contextWindow: 200_000, maxOutputTokens: 32_000 },
    { id: 'gpt' },
  ])
})

test('bare lists and other words for the list are read too, and the wire’s prefix is taken off', () => {
  const rows = [{ id: 'models/flash' }, { id: 'pro' }]
  for (const body of [rows, { data: rows }, { models: rows }])
    expect(readListedModels(body, 'models/')).toEqual([{ id: 'flash' }, { id: 'pro' }])
})

test('what cannot be read is left out, field by field and row by row', () => {
  const rows = [
    ...[null, 5, 'x', [], {}, { id: 5 }, { id: '' }, { id: 'a\nb' }, { id: 'x'.repeat(300) }],
    { id: 'models/' },
    { id: 'a', name: 'n'.repeat(300), context_length: -1, pricing: { prompt: '-1', completion: 'free' } },
    { id: 'b', context_length: 1.5, max_tokens: '8', pricing: null, top_provider: [], architecture: 'text' },
    {
      id: 'c',
      pricing: { prompt: Number.NaN, completion: Number.POSITIVE_INFINITY },
      architecture: { input_modalities: [5] },
    },
    { id: 'a', context_length: 7 },
  ]
  expect(readListedModels({ data: rows }, 'models/')).toEqual([{ id: 'a' }, { id: 'b' }, { id: 'c' }])
  for (const body of [undefined, null, 'x', 5, {}, { data: {} }]) expect(readListedModels(body, '')).toEqual([])
})

test('a list without end is cut', () => {
  const rows = Array.from({ length: 6000 }, (_, index) => ({ id: `m${index}` }))
  expect(readListedModels({ data: rows }, '')).toHaveLength(5000)
})

const listed = (prompt: unknown) => readListedModels([{ id: 'm', pricing: { prompt } }], '')[0]?.inputPerMillionUsd

test('a price per token is the exact price per million: the point moves, nothing is rounded on the way', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000_000), fc.integer({ min: 0, max: 15 }), (digits, places) => {
      const text = digits.toString().padStart(places + 1, '0')
      const price = places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`
      // The same digits over a power of ten that is six places smaller.
      const shift = places - 6
      const perMillion = shift <= 0 ? Number(`${digits}${'0'.repeat(-shift)}`) : Number(fraction(digits, shift))
      expect(listed(price)).toBe(perMillion)
    }),
  )
  expect(listed(2.5e-7)).toBe(0.25)
  expect(listed('0')).toBe(0)
})

function fraction(digits: number, places: number): string {
  const text = digits.toString().padStart(places + 1, '0')
  return `${text.slice(0, -places)}.${text.slice(-places)}`
}
