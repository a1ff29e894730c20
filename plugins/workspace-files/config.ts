import { type Static, Type } from '@sinclair/typebox'

const names = (defaults: readonly string[], description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { default: [...defaults], maxItems: 100, description })

export const WorkspaceFilesConfig = Type.Object({
  hidden_names: names(['.runwright'], 'Files and folders that tools neither read nor write, wherever they lie.'),
  protected_names: names(['.git'], 'Files and folders that tools read but do not write, wherever they lie.'),
  protected_paths: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
    default: [],
    maxItems: 100,
    description: 'Paths that tools read but do not write: absolute, or relative to the root of a run.',
  }),
})
export type WorkspaceFilesConfig = Readonly<Static<typeof WorkspaceFilesConfig>>
