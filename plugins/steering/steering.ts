import type { AnswerVerdict } from '#contracts/hooks'
import type { ActiveRun } from '#contracts/run/active-run'
import { gateOf } from './gate.js'

/** Kind of the letters that steer. */
export const STEER = 'steer'

/** Puts the waiting messages into the transcript, each exactly once; returns how many there were. */
export async function drain(run: ActiveRun): Promise<number> {
  const letters = await run.takeLetters(STEER)
  // Nothing is awaited here: the letters go and their messages come in one commit.
  for (const { body } of letters) {
    const message = messageIn(body)
    run.addMessages([{ role: 'user', content: message }])
    run.emit('steering.received', { message })
  }
  return letters.length
}

/** At the start of a step: whatever came until now. */
export async function atStep(run: ActiveRun): Promise<void> {
  gateOf(run).open()
  await drain(run)
}

/** Before an answer becomes the run's output: a message that was acknowledged makes the run go on, if it may. */
export async function atAnswer(answer: string, run: ActiveRun): Promise<AnswerVerdict | undefined> {
  const gate = gateOf(run)
  await gate.close()
  if ((await drain(run)) === 0) return undefined
  gate.open()
  return { kind: 'continue', messages: [], output: answer }
}

/** The run ends. What it completes without having acted on still belongs to the conversation. */
export async function atEnd(isCompleted: boolean, run: ActiveRun): Promise<void> {
  await gateOf(run).close()
  if (isCompleted) await drain(run)
}

const messageIn = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'prompt' in body && typeof body.prompt === 'string' ? body.prompt : ''
