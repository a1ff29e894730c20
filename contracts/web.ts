/** One request to an address that came from outside: a model, a tenant, a page. */
export interface WebRequest {
  /** `http` or `https`, no user or password in it. */
  readonly url: string
  /** Default `GET`. */
  readonly method?: 'GET' | 'HEAD' | 'POST'
  /** `authorization`, `cookie` and the like stay behind when a redirect leads to another origin. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** For everything together: names, connections, redirects, the whole body. */
  readonly timeoutMs: number
  /** Of the body after decompression; what is longer is cut. */
  readonly maxBytes: number
  /** Default 5; one more is refused. */
  readonly maxRedirects?: number
}

export interface WebAnswer {
  readonly kind: 'answered'
  /** Where the answer came from, redirects followed. */
  readonly url: string
  readonly status: number
  /** Names in lower case; a repeated header is joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  /** Decompressed. */
  readonly body: Uint8Array
  /** The body was longer than `maxBytes`. */
  readonly isTruncated: boolean
}

export type WebRefusalCode =
  /** Not a usable address: scheme, user-info, control characters, odd number forms. */
  | 'invalid_url'
  /** The address, or one its name stands for, is not public and not opened by the operator. */
  | 'forbidden_address'
  | 'too_many_redirects'
  | 'timeout'
  /** The body is compressed in a way that is not unpacked here, or is damaged. */
  | 'bad_encoding'
  /** No such name, nobody listens, a broken answer. */
  | 'unreachable'

/** Why there is no answer. `message` is a sentence for the model and says what to do. */
export interface WebRefusal {
  readonly kind: 'refused'
  readonly code: WebRefusalCode
  readonly message: string
}

/**
 * The only way out for requests whose target somebody else chose. A name is resolved once per connection, every address
 * it stands for is checked, and the connection goes to a checked one; redirects are checked the same way. Nothing of the
 * daemon's own (credentials, cookies, proxies) is sent along. Expected outcomes are values; an abort of the signal throws.
 */
export interface Web {
  exchange(request: WebRequest, signal: AbortSignal): Promise<WebAnswer | WebRefusal>
  /** Why the address would be refused now; undefined when it would not. Connects to nothing. */
  check(url: string): Promise<WebRefusal | undefined>
  /**
   * `fetch` over the same guarded connections, for clients that stream or bring a protocol library. A refused target
   * rejects with a `TypeError` whose cause says why. Sizes and times are the caller's to bound; redirects are not
   * followed: the caller gets the redirect itself.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
}
