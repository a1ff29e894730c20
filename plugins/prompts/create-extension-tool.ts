import { Type } from '@sinclair/typebox'
import { defineTool, type ToolResult } from '#contracts/tool/tool'
import type { PromptLibrary } from './library.js'
import type { OwnExtensions } from './own-extensions.js'

const MAX_CONTENT_CHARACTERS = 32 * 1024

const parameters = Type.Object({
  extension_type: Type.Union([Type.Literal('behavior'), Type.Literal('talent')], {
    description: 'behavior: how to work. talent: what to be good at.',
  }),
  name: Type.String({
    pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
    description: 'Lower-case letters, digits, - and _. Runs ask for it by this name.',
  }),
  title: Type.Optional(Type.String({ maxLength: 200, description: 'Heading of the text.' })),
  content: Type.String({
    minLength: 1,
    maxLength: MAX_CONTENT_CHARACTERS,
    description: 'Markdown, for the system prompt.',
  }),
  overwrite: Type.Optional(Type.Boolean({ description: 'Replace one that this tool wrote before. Default: false.' })),
})

/** `create_prompt_extension`: keeps a behavior or a talent that later runs of the tenant may ask for. */
export const createExtensionTool = (own: OwnExtensions, library: () => Promise<PromptLibrary>) =>
  defineTool({
    name: 'create_prompt_extension',
    description:
      'Write a reusable piece of system prompt. Runs started from now on use it when their request names it in prompt_extensions.behaviors or prompt_extensions.talents; this run does not change.',
    parameters,
    action: 'write',
    tier: 'deferred',
    tags: ['prompt', 'behavior', 'talent'],
    async execute(
      { extension_type: kind, name, title = '', content, overwrite = false },
      { run },
    ): Promise<ToolResult> {
      const { behaviors, talents } = await library()
      if ((kind === 'behavior' ? behaviors : talents).has(name))
        return {
          error: { code: 'already_exists', message: `${name} is a ${kind} of the deployment; choose another name` },
        }
      const heading = title.trim().replaceAll(/\s+/g, ' ')
      const text = heading === '' ? content : `# ${heading}\n\n${content}`
      const saved = await own.save(run.tenantId, kind, name, text, overwrite)
      if (saved.kind === 'refused') return { error: { code: saved.code, message: saved.because } }
      return { output: { status: saved.kind, extension_type: kind, name } }
    },
  })
