import type { Run } from '#contracts/run/run'
import { costText, numberText } from './amounts.js'
import { plainLine, plainText } from './plain-text.js'

/** A run as `runs get` shows it: facts first, then what was asked and what came out. */
export function runFacts(run: Run): string {
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['id', run.id],
    ['status', run.status],
    ['model', run.provider_name ? `${run.model} via ${run.provider_name}` : run.model],
    ['conversation', run.conversation_id],
    ['tenant', run.tenant_id],
    ['created', run.created_at],
    ['updated', run.updated_at],
    [
      'tokens',
      run.usage_totals &&
        `${numberText(run.usage_totals.prompt_tokens_total)} in, ${numberText(run.usage_totals.completion_tokens_total)} out`,
    ],
    ['cost', run.cost_totals && `${costText(run.cost_totals.cost_usd_total)} (${run.cost_totals.cost_status})`],
    ['error', run.error],
  ]
  const known = facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined && fact[1] !== '')
  const lines = known.map(([name, value]) => `${name.padEnd(13)} ${plainLine(value)}\n`)
  return `${lines.join('')}${block('prompt', run.prompt)}${block('output', run.output)}`
}

const block = (title: string, text: string | undefined): string =>
  text ? `\n${title}:\n${plainText(text).replace(/^/gm, '  ').trimEnd()}\n` : ''
