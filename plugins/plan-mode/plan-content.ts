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

/** The plan file's text, if this run wrote one. */
export async function writtenPlan(run: ActiveRun, files: WorkspaceFiles | undefined): Promise<string | undefined> {
  const content = await readPlan(run, files)
  if (!content || content.version === stateOf(run).firstVersion) return undefined
  const text = new TextDecoder().decode(content.bytes)
  return text.trim() === '' ? undefined : text
}

async function readPlan(run: ActiveRun, files: WorkspaceFiles | undefined): Promise<FileContent | undefined> {
  const path = planFileOf(run.request)
  const read = await files?.read({ ...run.workspace, shownPaths: [path] }, path, MAX_PLAN_BYTES)
  return read?.kind === 'content' ? read : undefined
}
