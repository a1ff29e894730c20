import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin } from '#contracts/plugin'
import { PROVIDERS } from '#contracts/ports'
import { SummarizeConfig } from './config.js'
import { summarizeRoutes } from './routes.js'

/** `POST /v1/summarize`. */
export const plugin = definePlugin({
  name: 'summarize',
  config: SummarizeConfig,
  optional: [PROVIDERS],
  async register(scope) {
    const { config, log } = scope
    const prompt = (await readFile(join(import.meta.dirname, 'content', 'system.md'), 'utf8')).trim()
    scope.routes(summarizeRoutes({ providers: scope.find(PROVIDERS), config, prompt }, log))
  },
})
