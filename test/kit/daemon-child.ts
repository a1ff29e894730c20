/**
 * A daemon in a process of its own, for tests that kill it. Takes one argument, a JSON `DaemonConfig` without
 * functions, prints `ready <url> <claimed>` once it listens, and stops on SIGTERM.
 */
import { createDaemon } from '#kernel/index'

const daemon = await createDaemon(JSON.parse(process.argv[2] ?? '{}'))
process.stdout.write(`ready ${daemon.url} ${daemon.claimed}\n`)
process.once('SIGTERM', () => void daemon.stop().then(() => process.exit(0)))
