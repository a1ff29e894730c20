import { setMaxListeners } from 'node:events'
import { closeSync, constants, openSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { NetworkPlan } from './network-plan.js'
import type { Ask } from './spawner.js'

/** Absolute paths of what a private network is made with. */
export interface NetworkPrograms {
  readonly unshare: string
  readonly slirp4netns: string
  readonly ip: string
}

/**
 * A network namespace whose commands reach each other by 127.0.0.1, the world by `slirp4netns`, and nothing that listens
 * on this machine. It lasts until `close`, or until `lost` fires because a part of it ended by itself.
 */
export interface PrivateNetwork {
  readonly lost: AbortSignal
  /** Looks for itself whether a part of it has ended, and makes `lost` fire then; the event loop may be late to tell. */
  isLost(): boolean
  /** Resolves after `lost`, when no process is left that could start a command in it. */
  readonly over: Promise<void>
  /** The commands' `/etc/resolv.conf`. */
  readonly resolver: string
  /** A line to the shell that starts commands in it. */
  send(line: string): void
  /** Kills the commands in it and ends it. */
  close(): void
}

/** Why a private network could not be had, in the words of the program that failed. */
export class NetworkProblem extends Error {}

export interface PrivateNetworkOptions {
  /** The spawner's directory, where the pipes named after the network lie. */
  readonly dir: string
  readonly name: string
  readonly programs: NetworkPrograms
  readonly plan: NetworkPlan
  readonly ask: Ask
  /** The name and its pipes are free again. */
  release(): void
  /** Fires when the spawner is gone. */
  readonly signal: AbortSignal
}

export async function openPrivateNetwork(options: PrivateNetworkOptions): Promise<PrivateNetwork> {
  const { name, programs, plan, ask, release, signal } = options
  const file = (suffix: string) => join(options.dir, `${name}.${suffix}`)
  const tools = [programs.unshare, programs.slirp4netns, programs.ip, plan.cidr]
  writeFileSync(file('tools'), tools.map(word => `${word}\0`).join(''), { mode: 0o600 })
  writeFileSync(file('rules'), plan.rules, { mode: 0o600 })
  // Of an earlier network of the name; only root could write into what nobody may.
  rmSync(file('resolver'), { force: true })
  writeFileSync(file('resolver'), plan.resolver, { mode: 0o444 })
  const pipes = ['life', 'carrier'].map(suffix => openSync(file(suffix), constants.O_RDONLY | constants.O_NONBLOCK))
  // For both ways, because nobody reads yet.
  const input = openSync(file('control'), constants.O_RDWR | constants.O_NONBLOCK)
  const discard = () => {
    for (const fd of [...pipes, input]) closeSync(fd)
    release()
  }
  const pid = await ask(['net', name]).catch(error => {
    discard()
    throw error
  })
  if (pid === 0) {
    const said = pipes.map(lastWords).find(text => text !== '')
    discard()
    throw new NetworkProblem(said ?? 'it ended without a word')
  }
  const control = new Socket({ fd: input, readable: false, writable: true })
  const lost = new AbortController()
  setMaxListeners(0, lost.signal)
  const end = () => {
    control.destroy()
    lost.abort()
  }
  const ends = pipes.map(fd => {
    const life = new Socket({ fd, readable: true, writable: false })
    life
      .unref()
      .resume()
      .on('error', () => {})
    life.once('close', end)
    return new Promise<void>(resolve => life.once('close', () => resolve()))
  })
  const over = Promise.all(ends).then(release)
  const isLost = () => {
    if (!lost.signal.aborted && pipes.some(isAtEnd)) end()
    return lost.signal.aborted
  }
  control.unref()
  control.on('error', end)
  signal.addEventListener('abort', end, { once: true })
  lost.signal.addEventListener('abort', () => signal.removeEventListener('abort', end), { once: true })
  const send = (line: string) => void control.write(line)
  return { lost: lost.signal, isLost, over, resolver: file('resolver'), send, close: end }
}

const someBytes = Buffer.alloc(4096)

/** Nobody holds the other end any more. What else it brings is of no interest. */
function isAtEnd(fd: number): boolean {
  try {
    return readSync(fd, someBytes) === 0
  } catch {
    return false
  }
}

const LAST_WORDS_BYTES = 4096

/** What lies in a pipe, without the notes a program makes on its way. */
function lastWords(fd: number): string {
  const bytes = Buffer.alloc(LAST_WORDS_BYTES)
  try {
    const text = bytes.toString('utf8', 0, readSync(fd, bytes))
    const lines = text.split('\n').filter(line => line !== '' && !NOTE.test(line))
    return lines[0] ?? ''
  } catch {
    return ''
  }
}

const NOTE = /^(WARNING|sent tapfd|received tapfd|child failed)/
