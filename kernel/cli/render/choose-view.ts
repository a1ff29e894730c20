import type { Terminal } from '../environment.js'
import type { ViewOptions } from '../run/run-options.js'
import { createPaint } from './paint.js'
import { jsonView, quietView, type RunView } from './run-view.js'
import { createTerminalView } from './terminal-view.js'

const DEFAULT_COLUMNS = 100
const DEFAULT_OUTPUT_LINES = 10

/** How this person, or this program, wants to see a run. */
export function chooseView(terminal: Terminal, options: ViewOptions): RunView {
  if (options.json) return jsonView()
  if (options.quiet) return quietView(terminal.isTty.stdout)
  return createTerminalView({
    paint: createPaint(terminal.isTty.stdout && !terminal.isColourOff),
    columns: terminal.columns ?? DEFAULT_COLUMNS,
    outputLines: options.toolOutput ?? DEFAULT_OUTPUT_LINES,
    isAskedHere: terminal.isTty.stdin && !options.approveAll,
  })
}
