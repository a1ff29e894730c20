import { type Static, Type } from '@sinclair/typebox'

export const FileToolsConfig = Type.Object({
  search_timeout_ms: Type.Integer({
    minimum: 100,
    maximum: 300_000,
    default: 20_000,
    description: 'How long grep, glob and ls may look before they answer with what they have.',
  }),
  skipped_folders: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
    maxItems: 100,
    default: ['.git', 'node_modules'],
    description: 'Folders that grep, glob and recursive ls do not enter unless the call names them.',
  }),
})
export type FileToolsConfig = Readonly<Static<typeof FileToolsConfig>>
