import { withCpu } from '../process-tree.js'
import { median } from '../statistics.js'
import type { ToolScript } from '../subject.js'
import { type Cell, type CellContext, within } from './cell.js'

const TOOL_TURNS = 10
/** A run of ten tool turns has eleven model calls, so eleven steps. */
const STEPS = TOOL_TURNS + 1

/** A run of eleven steps, ten of which call one tool. */
export const measureTools: Cell = async context => {
  const read = await measureTool(context, context.subject.readTool, 10)
  const shell = await measureTool(context, context.subject.shellTool, 4)
  return {
    readStepMs: read.stepMs,
    readStepCpuMs: read.cpuMs,
    shellStepMs: shell.stepMs,
    shellStepCpuMs: shell.cpuMs,
  }
}

async function measureTool({ subject, model, isSmoke }: CellContext, tool: ToolScript, runs: number) {
  await model.script({ toolTurns: TOOL_TURNS, tool })
  const run = () => within(60_000, `a run with ${tool.name}`, subject.client.timedRun())
  await run()
  await model.script({ toolTurns: TOOL_TURNS, tool })
  const walls: number[] = []
  const wanted = isSmoke ? 1 : runs
  const { cpuMs } = await withCpu(subject.pid, async () => {
    while (walls.length < wanted) walls.push(await run())
  })
  const { toolTurns } = await model.counts()
  if (toolTurns !== wanted * TOOL_TURNS) throw new Error(`${tool.name} was not offered: ${toolTurns} tool turns`)
  return { stepMs: median(walls) / STEPS, cpuMs: cpuMs / wanted / STEPS }
}
