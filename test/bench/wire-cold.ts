/** One process, one turn: what the vendor's package costs to load and to keep. Forked by `model-wire.ts`. */

import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { messagesPackageSendsWeRead, ourMessages } from './messages-subjects.js'
import { ours, packageSendsWeRead } from './wire-subjects.js'

export interface ColdFigures {
  /** To import the package and make its client. */
  readonly loadMs: number
  readonly loadCpuMs: number
  /** After the first turn. */
  readonly rssMb: number
}

const [wire = '', subject = '', origin = ''] = process.argv.slice(2)

/** `package`, `ours`, or the path of a bundle. */
async function turnOf() {
  if (wire === 'messages') {
    if (subject === 'ours') return ourMessages(origin)
    const path = subject === 'package' ? '@anthropic-ai/sdk' : subject
    const module = (await import(path)) as { readonly Anthropic: typeof Anthropic }
    return messagesPackageSendsWeRead(module.Anthropic, origin)
  }
  if (subject === 'ours') return ours(origin, '')
  const module = (await import(subject === 'package' ? 'openai' : subject)) as { readonly OpenAI: typeof OpenAI }
  return packageSendsWeRead(module.OpenAI, origin)
}

const startedAt = performance.now()
const before = process.cpuUsage()
const turn = await turnOf()
const { user, system } = process.cpuUsage(before)
const loadMs = performance.now() - startedAt
if ((await turn()) === 0) throw new Error('empty answer')
const figures: ColdFigures = {
  loadMs,
  loadCpuMs: (user + system) / 1000,
  rssMb: process.memoryUsage().rss / 2 ** 20,
}
process.send?.(figures, () => process.exit(0))
