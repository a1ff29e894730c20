import type { ToolResult } from '#contracts/tool/tool'
import type { FileRefusal } from '#contracts/workspace-files'

export type ToolFailure = Extract<ToolResult, { readonly error: unknown }>

/** A failure of the tool itself: `code` for programs, `message` for the model. */
export const failure = (code: string, message: string, facts: Readonly<Record<string, unknown>> = {}): ToolFailure => ({
  error: { code, message, ...facts },
})

export const isFailed = (value: object): value is ToolFailure => 'error' in value

/** A refusal of the port as the tool's answer. */
export const refused = ({ code, message, path, expectedVersion, actualVersion }: FileRefusal): ToolFailure =>
  failure(code, message, {
    path,
    ...(expectedVersion !== undefined && { expected_version: expectedVersion }),
    ...(actualVersion !== undefined && { actual_version: actualVersion }),
  })
