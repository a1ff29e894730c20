import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { processTerminal, runDemo, sandboxProblem } from '#kernel/cli/index'
import { bundledPlugins, createDaemon, PACKAGE_DIR } from '#kernel/index'

/** `npm run demo`: a whole run on this machine, without a key, leaving nothing behind. Resolves with the exit code. */
export async function main(): Promise<number> {
  const isColourOff = (process.env.NO_COLOR ?? '') !== ''
  return runDemo(processTerminal({ baseUrl: 'http://127.0.0.1:8080', isColourOff }), {
    fakeTurnsDir: join(PACKAGE_DIR, 'examples', 'fake-turns'),
    startDaemon: (environment, directory) => createDaemon({ environment, home: directory, cwd: directory }),
    sandboxProblem: async () => {
      const plugins = await bundledPlugins()
      return sandboxProblem({ plugins, configure: () => ({}), shelf: join(PACKAGE_DIR, 'dist', 'shelf') }, tmpdir())
    },
  })
}
