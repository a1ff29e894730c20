import type { ActiveRun } from '#contracts/run/active-run'
import type { FileContent, WorkspaceFiles } from '#contracts/workspace-files'
import { planFileOf } from './plan-file.js'
import { setState, stateOf } from './plan-state.js'

const MAX_PLAN_BYTES = 256 * 1024

/** Remembers, before the first turn, which plan file was there already: that one is not this run's plan. */
export async function rememberFirstVersion(run: ActiveRun, files: WorkspaceFiles | undefined): Promise<void> {
  const state = stateOf(run)
  if (state.mode !== 'active' || state.firstVersion !== undefined) return
  setState(run, { ...state, firstVersion: (await readPlan(run, files))?.version ?? '' })
}

/** The plan file's text, if this run wrote one since planning began, else the answer; and the file's version, empty for none. */
export async function planOf(
  run: ActiveRun,
  answer: string,
  files: WorkspaceFiles | undefined,
): Promise<{ readonly plan: string; readonly version: string }> {
  const content = await readPlan(run, files)
  const version = content?.version ?? ''
  const { firstVersion, mayHaveWritten } = stateOf(run)
  // Another run of the workspace may have the same plan file.
  if (!content || !mayHaveWritten || version === firstVersion) return { plan: answer, version }
  const text = new TextDecoder().decode(content.bytes)
  return { plan: text.trim() === '' ? answer : text, version }
}

async function readPlan(run: ActiveRun, files: WorkspaceFiles | undefined): Promise<FileContent | undefined> {
  const path = planFileOf(run.request)
  const read = await files?.read({ ...run.workspace, shownPaths: [path] }, path, MAX_PLAN_BYTES)
  return read?.kind === 'content' ? read : undefined
}
