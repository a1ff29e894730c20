/** The files of a new plugin, by name. They compile, pass the contract kit and are meant to be changed. */
export function pluginFiles(name: string): Readonly<Record<string, string>> {
  const tool = name.replaceAll('-', '_')
  return {
    'index.ts': indexFile(name, tool),
    'config.ts': CONFIG_FILE,
    'count-words.ts': LOGIC_FILE,
    [`${name}.test.ts`]: testFile(name),
    'README.md': readmeFile(name, tool),
  }
}

const indexFile = (name: string, tool: string) => `import { definePlugin, defineTool } from 'runwright/contracts'
import { Type } from '@sinclair/typebox'
import { Config } from './config.js'
import { countWords } from './count-words.js'

/** Gives agents the tool \`${tool}\`. */
export const plugin = definePlugin({
  name: '${name}',
  config: Config,
  register(scope) {
    scope.tool(
      defineTool({
        name: '${tool}',
        description: 'Counts the words of a text.',
        parameters: Type.Object({ text: Type.String({ description: 'The text to count.' }) }),
        action: 'read',
        execute: async ({ text }) => countWords(text, scope.config.longest_text),
      }),
    )
  },
})
`

const CONFIG_FILE = `import { type Static, Type } from '@sinclair/typebox'

/** Settings of this plugin: its section in the config file fills them in. */
export const Config = Type.Object({
  longest_text: Type.Integer({ default: 100_000, minimum: 1, description: 'Longest text that is counted, characters.' }),
})
export type Config = Readonly<Static<typeof Config>>
`

const LOGIC_FILE = `import type { ToolResult } from 'runwright/contracts'

/** The number of words, or an error the model can act on. */
export function countWords(text: string, longest: number): ToolResult {
  if (text.length > longest) return { error: \`the text is longer than \${longest} characters; send it in parts\` }
  return { output: { words: text.split(/\\s+/).filter(Boolean).length } }
}
`

const testFile = (name: string) => `import { describePlugin } from 'runwright/testing'
import { describe, expect, test } from 'vitest'
import { countWords } from './count-words.js'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname })

describe('${name}', () => {
  test('words are counted, however they are spaced', () => {
    expect(countWords('  one two\\nthree ', 100)).toEqual({ output: { words: 3 } })
  })

  test('a text that is too long is an error that says what to do', () => {
    expect(countWords('one two', 3)).toEqual({ error: 'the text is longer than 3 characters; send it in parts' })
  })
})
`

const readmeFile = (
  name: string,
  tool: string,
) => `This folder holds the plugin \`${name}\`: it gives agents the tool \`${tool}\`, which counts the words of a text.

- \`index.ts\` declares what the plugin adds. It starts nothing: declaring is all that happens there.
- \`config.ts\` is the schema of its settings: \`[plugins.${name}]\` in the config file.
- \`count-words.ts\` is the logic, tested without a daemon.
- \`${name}.test.ts\` runs the contract kit and the tests of the logic.

Check it with \`runwright plugin check <this folder>\`. Run its test with \`npx vitest run\`, in a directory of your own after
\`npm install --save-dev /path/to/runwright @sinclair/typebox vitest\`. A running daemon loads a saved change within seconds (in
the package's own plugins/ after a build); runs in flight finish with the version they started with.
`
