import { setTimeout as delay } from 'node:timers/promises'
import { type ApiClient, type ApiProblem, createApiClient } from '../api-client.js'
import { explain } from '../complain.js'
import type { CliEnvironment, ConfigOptions } from '../environment.js'
import { type ConnectionOptions, connect } from '../options.js'
import type { Check } from './check.js'

interface RunView {
  readonly status: string
  readonly model: string
  readonly provider_name?: string
  readonly output?: string
  readonly error?: string
}

const name = 'model'
const LONGEST_MS = 60_000
const POLL_MS = 100
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled'])
const ADVICE = '"runwright providers" tells which variable is missing and who answers; SVC_MODEL chooses the model'

/**
 * Has the default model say one word, through a whole run: by the daemon that answers at the address, else by one that is
 * started for this and leaves nothing behind. Costs a few tokens.
 */
export async function modelCheck(
  environment: CliEnvironment,
  options: ConfigOptions & ConnectionOptions,
): Promise<Check> {
  const running = connect(environment, options)
  if ((await running.request('GET', '/healthz')).kind === 'answered') return askForAWord(running)
  const trial = await environment.startTrial?.(options).catch((error: Error) => error)
  if (trial === undefined) return { name, state: 'warn', says: 'not asked: no daemon runs', advice: 'start one first' }
  if (trial instanceof Error)
    return { name, state: 'fail', says: trial.message, advice: 'the daemon itself will not start like this either' }
  try {
    return await askForAWord(createApiClient(trial.url, undefined))
  } finally {
    await trial.stop()
  }
}

async function askForAWord(api: ApiClient): Promise<Check> {
  const startedAt = performance.now()
  const started = await api.request<{ readonly run_id: string }>('POST', '/v1/runs', { body: REQUEST })
  if (started.kind !== 'answered') return refused(started)
  const path = `/v1/runs/${started.body.run_id}`
  while (performance.now() - startedAt < LONGEST_MS) {
    const reply = await api.request<RunView>('GET', path)
    if (reply.kind !== 'answered') return refused(reply)
    if (ENDED.has(reply.body.status)) return verdict(reply.body, Math.round(performance.now() - startedAt))
    await delay(POLL_MS)
  }
  await api.request('POST', `${path}/cancel`)
  return { name, state: 'fail', says: `no answer within ${LONGEST_MS / 1000} s`, advice: ADVICE }
}

/** Nothing to read, nothing to call, one step: what is tried is the way to the model and back. */
const REQUEST = {
  prompt: 'Answer with the single word: ready',
  system_prompt: 'You answer with one word and use no tools.',
  max_steps: 1,
  // Denying wins over offering: none is left, not even those that are always there.
  allowed_tools: ['find_tool'],
  denied_tools: ['find_tool', 'AskUserQuestion', 'skill'],
  agent_id: 'doctor',
}

function verdict({ status, model, provider_name: provider = '?', error }: RunView, ms: number): Check {
  // A model that calls a tool although there is none has answered too.
  if (status === 'completed' || error?.startsWith('max steps'))
    return { name, state: 'ok', says: `${model} of ${provider} answered in ${ms} ms` }
  return { name, state: 'fail', says: `${model} did not answer: ${error ?? status}`, advice: ADVICE }
}

function refused(problem: ApiProblem): Check {
  const [says, hint] = explain(problem)
  return { name, state: 'fail', says: `the daemon took no run: ${says}`, ...(hint !== undefined && { advice: hint }) }
}
