import { Type } from '@sinclair/typebox'
import type { ToolContext, ToolResult } from '#contracts/tool/tool'
import type { WebRefusal } from '#contracts/web'

export type ToolFailure = Extract<ToolResult, { readonly error: unknown }>

export const UrlParameter = Type.String({ minLength: 1, maxLength: 8192, description: 'An http or https address.' })
export const TimeoutParameter = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 120, default: 20, description: 'Seconds for everything, redirects included.' }),
)
export const DEFAULT_TIMEOUT_SECONDS = 20

export const failure = (code: string, message: string): ToolFailure => ({ error: { code, message } })

export const refused = ({ code, message }: WebRefusal): ToolFailure => failure(code, message)

/** A run that was admitted without network gets none, whatever its sandbox is. */
export async function refusedByPolicy(context: ToolContext): Promise<ToolFailure | undefined> {
  const { network } = await context.sandboxPolicy()
  if (network !== 'deny') return undefined
  return failure('network_denied', 'This run may not use the network. Go on without it, or report that you need it.')
}

export const contentTypeOf = (headers: Readonly<Record<string, string>>): string => headers['content-type'] ?? ''

export const isHtml = (contentType: string): boolean => /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType)

const TEXT =
  /^\s*(text\/|application\/([\w.+-]*\+)?(json|xml|javascript|ecmascript|yaml|toml|x-sh|sql|graphql)\b|image\/svg)/i

/** The text of a body; undefined for one that is none. */
export function textOf(bytes: Uint8Array, contentType: string): string | undefined {
  const [, charset] = /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(contentType) ?? []
  const mayBeText = contentType === '' || TEXT.test(contentType) || isHtml(contentType)
  if (!mayBeText && bytes.includes(0)) return undefined
  if (bytes.subarray(0, 1024).includes(0) && !/utf-?16/i.test(charset ?? '')) return undefined
  return decoderOf(charset).decode(bytes)
}

function decoderOf(charset: string | undefined): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset ?? 'utf-8')
  } catch {
    return new TextDecoder('utf-8')
  }
}
