import type { Identity } from '../identity.js'
import type { ActiveRun } from './active-run.js'

/** What an operator lets runs ask for, seen from those who let somebody talk to a run. */
export interface RunCeilings {
  /**
   * Throws `forbidden` when the run may do what the identity could not ask for in a run of its own: whoever tells a run
   * what to do borrows its reach. Await it before a word, an answer or an approval goes to a run.
   */
  mayDirect(identity: Identity, run: Pick<ActiveRun, 'id' | 'request' | 'policy'>): Promise<void>
}
