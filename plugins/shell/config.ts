import { type Static, Type } from '@sinclair/typebox'

/** Settings of the `bash` tool. */
export const ShellConfig = Type.Object({
  /** Seconds a command gets when the call does not say. */
  default_timeout_seconds: Type.Integer({ minimum: 1, maximum: 300, default: 30 }),
  /** Bytes of output the model gets back, half from its start and half from its end. */
  captured_bytes: Type.Integer({ minimum: 1024, maximum: 1024 * 1024, default: 64 * 1024 }),
  /** Bytes of output shown while the command works; what comes after is only captured. */
  streamed_bytes: Type.Integer({ minimum: 0, maximum: 64 * 1024 * 1024, default: 1024 * 1024 }),
})
export type ShellConfig = Readonly<Static<typeof ShellConfig>>
