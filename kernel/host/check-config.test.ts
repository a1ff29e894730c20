import { Type } from '@sinclair/typebox'
import { expect, test } from 'vitest'
import { checkConfig } from './check-config.js'

const SCHEMA = Type.Object({
  path: Type.String({ default: 'spend.jsonl' }),
  limits: Type.Object({ runs: Type.Integer({ minimum: 1, default: 5 }) }, { default: {} }),
  api_key: Type.Optional(Type.String({ secret: true, minLength: 20 })),
})

test('defaults are filled in, and what comes out is frozen through and through and not what went in', () => {
  const raw = { limits: {} }
  const config = checkConfig('spend', SCHEMA, raw) as { limits: object }
  expect(config).toEqual({ path: 'spend.jsonl', limits: { runs: 5 } })
  expect([Object.isFrozen(config), Object.isFrozen(config.limits), Object.isFrozen(raw.limits)]).toEqual([
    true,
    true,
    false,
  ])
  expect(checkConfig('spend', SCHEMA, undefined)).toEqual(config)
})

test('every wrong field is named with what was expected, and no value is shown', () => {
  const wrong = { path: 7, limits: { runs: 0 }, api_key: 'hunter2' }
  expect(() => checkConfig('spend', SCHEMA, wrong)).toThrow(
    /^plugin "spend" has a bad config: path: Expected string; limits\.runs: Expected integer to be greater or equal to 1; api_key: Expected string length greater or equal to 20\. Correct it under \[plugins\.spend\]/,
  )
  expect(() => checkConfig('spend', SCHEMA, wrong)).not.toThrow(/hunter2/)
})

test('a table where a list belongs is refused, not taken for the default', () => {
  const schema = Type.Object({
    days: Type.Array(Type.String(), { default: [] }),
    deep: Type.Object({ names: Type.Array(Type.String(), { default: [] }) }, { default: {} }),
    table: Type.Object({}, { default: {} }),
  })
  expect(() => checkConfig('spend', schema, { days: { a: 1 }, deep: { names: {} }, table: [] })).toThrow(
    'days: Expected array; deep.names: Expected array; table: Expected object',
  )
})
