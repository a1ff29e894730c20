import { type Static, Type } from '@sinclair/typebox'

export const WebToolsConfig = Type.Object({
  page_bytes: Type.Integer({
    minimum: 10_000,
    maximum: 20 * 1024 * 1024,
    default: 4 * 1024 * 1024,
    description: 'So much of an HTML page is read before it is turned into Markdown.',
  }),
  conversion_timeout_ms: Type.Integer({
    minimum: 100,
    maximum: 60_000,
    default: 10_000,
    description: 'A page that takes longer to convert is given up.',
  }),
})
export type WebToolsConfig = Readonly<Static<typeof WebToolsConfig>>
