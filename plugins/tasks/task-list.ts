import { messageOf } from '#contracts/errors'
import type { PluginLog } from '#contracts/plugin'
import type { Task, TaskSource } from '#contracts/tasks'

/** Every source's tasks of a tenant, by the time they started, then type and id. A source that fails is left out, and logged. */
export async function listTasks(
  sources: readonly TaskSource[],
  tenantId: string,
  nowMs: number,
  log: PluginLog,
): Promise<readonly Task[]> {
  const lists = await Promise.all(
    sources.map(source =>
      source.list(tenantId).catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'a source of tasks cannot be read')
        return []
      }),
    ),
  )
  return lists
    .flat()
    .map(task => ({ ...task, age_seconds: Math.max(0, Math.floor((nowMs - Date.parse(task.started_at)) / 1000)) }))
    .toSorted((a, b) => compare(a.started_at, b.started_at) || compare(a.type, b.type) || compare(a.id, b.id))
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
