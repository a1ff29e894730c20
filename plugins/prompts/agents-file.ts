import type { WorkspaceRoots } from '#contracts/tool/tool'
import type { WorkspaceFiles } from '#contracts/workspace-files'

const NAME = 'AGENTS.md'
const MAX_BYTES = 64 * 1024

/** Instructions a project keeps for agents. No text when there is no such file. */
export interface AgentsFile {
  readonly text: string
  readonly warning?: { readonly code: string; readonly message: string }
}

/** Reads AGENTS.md from the root of a workspace, its first 64 KiB. */
export async function readAgentsFile(files: WorkspaceFiles, workspace: WorkspaceRoots): Promise<AgentsFile> {
  const opened = await files.open({ ...workspace, extraDirs: [] }, NAME)
  if (opened.kind === 'refused')
    return opened.code === 'not_found'
      ? { text: '' }
      : { text: '', warning: { code: 'agents_md_read_failed', message: `${NAME}: ${opened.message}` } }
  try {
    const text = Buffer.from(await opened.read(0, MAX_BYTES)).toString('utf8')
    if (opened.sizeBytes <= MAX_BYTES) return { text }
    const message = `${NAME} has ${opened.sizeBytes} bytes; only the first ${MAX_BYTES} are in the prompt`
    return { text, warning: { code: 'agents_md_cut', message } }
  } finally {
    opened.close()
  }
}

const FRESH_MS = 1_000
const MAX_ROOTS = 200

/**
 * Reads as `readAgentsFile`, but a workspace at most once a second: many short runs in one place would otherwise spend
 * more on opening the file than on asking the model.
 */
export function createAgentsFileReader(
  files: WorkspaceFiles,
  now: () => number = () => performance.now(),
): (workspace: WorkspaceRoots) => Promise<AgentsFile> {
  const known = new Map<string, { readonly file: Promise<AgentsFile>; readonly readAtMs: number }>()
  return workspace => {
    const held = known.get(workspace.root)
    if (held && now() - held.readAtMs < FRESH_MS) return held.file
    const file = readAgentsFile(files, workspace)
    known.delete(workspace.root)
    known.set(workspace.root, { file, readAtMs: now() })
    const [oldest] = known.keys()
    if (known.size > MAX_ROOTS && oldest !== undefined) known.delete(oldest)
    file.catch(() => known.delete(workspace.root))
    return file
  }
}
