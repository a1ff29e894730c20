import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '#contracts/errors'
import { measurePeer } from './measure.js'
import { startModel } from './model.js'
import { type BenchOptions, parseOptions, USAGE } from './options.js'
import { writeReadme } from './readme.js'
import { missedGoals, renderBench } from './render.js'
import { type BenchResults, loadNow, type Sample, thisMachine } from './results.js'

/** Runs the bench and prints its table. Resolves with the exit code: 0 when every cell came to an end. */
export async function main(args: readonly string[]): Promise<number> {
  let options: ReturnType<typeof parseOptions>
  try {
    options = parseOptions(args, new Date())
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n\n${USAGE}\n`)
    return 2
  }
  if (options === 'help') {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  const results = await run(options)
  const table = renderBench(results)
  process.stdout.write(`\n${table}\n\n${options.out}\n`)
  const missed = missedGoals(results)
  if (missed.length > 0) process.stdout.write(`goals missed: ${missed.map(({ title }) => title).join('; ')}\n`)
  if (options.readme) await writeReadme(options.readme, table)
  return results.samples.some(({ errors }) => Object.keys(errors).length > 0) ? 1 : 0
}

async function run(options: BenchOptions): Promise<BenchResults> {
  await mkdir(dirname(options.out), { recursive: true })
  const samples: Sample[] = []
  const results = {
    date: new Date().toISOString(),
    machine: thisMachine(),
    loadBefore: loadNow(),
    rounds: options.rounds,
    samples,
  }
  const model = await startModel()
  try {
    for (let round = 1; round <= options.rounds; round++)
      // Another one goes first in each round: the machine is not the same at its beginning and its end.
      for (const peer of rotated(options.peers, round - 1)) {
        const startedAt = performance.now()
        const sample = await measurePeer(peer, round, model, options)
        samples.push(sample)
        report(sample, (performance.now() - startedAt) / 1000)
        await writeFile(options.out, JSON.stringify(results, undefined, 1))
      }
  } finally {
    model.stop()
  }
  return results
}

function report({ round, peer, figures, errors }: Sample, seconds: number): void {
  const show = (key: string) => figures[key]?.toFixed(2) ?? '-'
  process.stdout.write(
    `round ${round} ${peer.padEnd(12)} ${seconds.toFixed(0).padStart(3)} s  cold ${show('coldStartMs')} ms, p50 ${show('turnP50Ms')} ms, CPU/run at 64 ${show('cpuMs64')} ms\n`,
  )
  for (const [cell, error] of Object.entries(errors)) process.stdout.write(`  ${cell} failed: ${error}\n`)
}

const rotated = <T>(values: readonly T[], by: number): readonly T[] =>
  values.map((_, index) => values[(index + by) % values.length] as T)

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === process.argv[1])
  process.exitCode = await main(process.argv.slice(2))
