import { readdirSync, readFileSync } from 'node:fs'

/** USER_HZ is 100 on every Linux that Node runs on. */
const TICK_MS = 10

/** User and system time of a process and its descendants so far, with children that were waited for. */
export const cpuMsOf = (root: number): number => sum(treeOf(root).map(pid => statOf(pid)?.cpuMs ?? 0))

/** Resident memory of a process and its descendants. */
export const rssMbOf = (root: number): number => sum(treeOf(root).map(residentMb))

/** Runs `work` and returns, with its value, the most memory that was seen meanwhile. */
export async function withPeakRss<T>(root: number, work: () => Promise<T>): Promise<{ value: T; peakMb: number }> {
  let peakMb = rssMbOf(root)
  const look = () => {
    peakMb = Math.max(peakMb, rssMbOf(root))
  }
  const timer = setInterval(look, 200)
  try {
    const value = await work()
    look()
    return { value, peakMb }
  } finally {
    clearInterval(timer)
  }
}

/** Runs `work` and returns, with its value, its wall time and the CPU time the tree used meanwhile. */
export async function withCpu<T>(
  root: number,
  work: () => Promise<T>,
): Promise<{ value: T; cpuMs: number; wallMs: number }> {
  const before = cpuMsOf(root)
  const startedAt = performance.now()
  const value = await work()
  return { value, wallMs: performance.now() - startedAt, cpuMs: cpuMsOf(root) - before }
}

function treeOf(root: number): readonly number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    const stat = Number.isInteger(pid) ? statOf(pid) : undefined
    if (stat) children.set(stat.parent, [...(children.get(stat.parent) ?? []), pid])
  }
  const tree = [root]
  // The array grows while it is walked: every process adds its children.
  for (const pid of tree) tree.push(...(children.get(pid) ?? []))
  return tree
}

function statOf(pid: number): { readonly parent: number; readonly cpuMs: number } | undefined {
  const text = readProc(`${pid}/stat`)
  // The name of the program stands in parentheses and may hold spaces.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15)
  return text === ''
    ? undefined
    : { parent: fields[1] ?? 0, cpuMs: (user + system + childUser + childSystem) * TICK_MS }
}

const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readProc(`${pid}/status`))?.[1] ?? 0) / 1024

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    // It ended since it was listed.
    return ''
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
