import type { Collection, Records } from '#contracts/store/records'
import type { JobFacts } from './job-table.js'

const PAGE = 100
const COMMAND_CHARACTERS = 2_000

/** What is known of a job wherever it is told of, and all that is left of one whose daemon was killed. */
export interface JobTrace {
  readonly shell_id: string
  readonly mark: string
  readonly run_id: string
  readonly conversation_id: string
  /** Its first 2,000 characters. */
  readonly command: string
  readonly working_dir: string
  readonly started_at: string
  /** Id of the job table it runs in. */
  readonly table: string
}

export interface KeptTrace {
  readonly tenantId: string
  readonly trace: JobTrace
}

/** The jobs whose end nobody was told so far, as durable as runs are. */
export class JobTraces {
  readonly #traces: Collection<JobTrace>

  constructor(records: Records) {
    this.#traces = records.collection<JobTrace>({ name: 'shell.jobs', namespace: 'run' })
  }

  /** Before the job starts: from here on its end will be told, whatever happens to this process. */
  async leave(job: JobFacts, table: string): Promise<void> {
    await this.#traces.put(job.tenantId, job.id, { ...traceOf(job), table })
  }

  /** Its end was told, or it never began. */
  async remove(tenantId: string, shellId: string): Promise<void> {
    await this.#traces.remove(tenantId, shellId)
  }

  /** Jobs of other tables. Nobody runs them any more. */
  async *foreign(table: string): AsyncGenerator<KeptTrace> {
    let from = ''
    for (;;) {
      const page = await this.#traces.scan({ from, limit: PAGE })
      for (const { tenantId, value } of page) if (value.table !== table) yield { tenantId, trace: value }
      const last = page.at(-1)
      if (!last || page.length < PAGE) return
      from = `${last.key}\0`
    }
  }
}

/** What of a job is told. */
export const traceOf = ({ id, mark, runId, conversationId, command, cwd, startedAt }: JobFacts) => ({
  shell_id: id,
  mark,
  run_id: runId,
  conversation_id: conversationId,
  command: command.slice(0, COMMAND_CHARACTERS),
  working_dir: cwd,
  started_at: startedAt.toISOString(),
})
