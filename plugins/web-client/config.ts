import { type Static, Type } from '@sinclair/typebox'

export const WebClientConfig = Type.Object({
  network_allowlist: Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
    default: [],
    maxItems: 1000,
    setting: 'tools.network_allowlist',
    description:
      'Hosts, addresses and CIDR ranges outside of the public internet that may be reached, optionally `:port`.',
  }),
})
export type WebClientConfig = Readonly<Static<typeof WebClientConfig>>
