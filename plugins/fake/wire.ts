import { Failure } from '#contracts/errors'
import type { ModelConnection, ModelWire, ProviderCatalog } from '#contracts/model/provider'
import type { FakeClient } from './fake-client.js'

/** The only value of SVC_PROVIDER this plugin heeds, the provider it makes, and the protocol that one speaks. */
export const FAKE = 'fake'

/** Any provider whose entry says `protocol: fake` is answered by these turns; undefined: there are none. */
export const fakeWire = (clientFor: ((provider: string) => FakeClient) | undefined): ModelWire => ({
  protocols: [FAKE],
  open({ provider }): ModelConnection {
    if (clientFor === undefined)
      throw new Failure(
        'not_configured',
        `provider ${provider} speaks the protocol fake: set SVC_PROVIDER=fake and SVC_FAKE_TURNS=<turns file>`,
      )
    return clientFor(provider)
  },
})

/** The provider that side questions and lists of providers find when every run is answered from the file. */
export const FAKE_CATALOG: ProviderCatalog = Object.freeze({
  version: FAKE,
  providers: {
    [FAKE]: {
      display_name: 'Turns of a file',
      base_url: 'http://localhost',
      api_key_optional: true,
      protocol: FAKE,
      is_hidden: true,
      models: {},
    },
  },
})
