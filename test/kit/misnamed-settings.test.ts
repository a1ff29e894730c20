import { Type } from '@sinclair/typebox'
import { expect, test } from 'vitest'
import { misnamedSettings } from './misnamed-settings.js'

test('a setting in any other spelling is found, however deep it lies', () => {
  const config = Type.Object({
    timeoutSeconds: Type.Number(),
    'key-file': Type.String(),
    Mode: Type.String(),
    limits: Type.Object({ maxRuns: Type.Integer() }),
    rules: Type.Array(Type.Object({ onTool: Type.String() })),
    either: Type.Union([Type.String(), Type.Object({ asText: Type.String() })]),
    both: Type.Intersect([Type.Object({ one_part: Type.String() }), Type.Object({ otherPart: Type.String() })]),
    pair: Type.Tuple([Type.Object({ firstOf: Type.String() })]),
    by_name: Type.Record(Type.String(), Type.Object({ baseUrl: Type.String() })),
  })
  expect(misnamedSettings(config)).toEqual([
    'Mode',
    'both.otherPart',
    'by_name.baseUrl',
    'either.asText',
    'key-file',
    'limits.maxRuns',
    'pair.firstOf',
    'rules.onTool',
    'timeoutSeconds',
  ])
})

test('a plugin has no setting "enabled": the host takes it out of the section', () => {
  expect(misnamedSettings(Type.Object({ enabled: Type.Boolean() }))).toEqual(['enabled'])
  expect(misnamedSettings(Type.Object({ cache: Type.Object({ enabled: Type.Boolean() }) }))).toEqual([])
})

test('snake_case is right, and the keys of a map are free', () => {
  const headers = Type.Record(Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' }), Type.String(), {
    default: { 'X-A': 'b' },
  })
  const config = Type.Object(
    { base_url: Type.String(), ipv4_only: Type.Boolean(), headers },
    { additionalProperties: true },
  )
  expect(misnamedSettings(config)).toEqual([])
})
