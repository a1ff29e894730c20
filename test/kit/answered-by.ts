/**
 * The environment of a daemon that one model server answers. Nobody asks that server for a list in the background, so that
 * the requests it counts are those of the test.
 */
export const answeredBy = (baseUrl: string): Readonly<Record<string, string>> => ({
  OPENAI_BASE_URL: baseUrl,
  OPENAI_API_KEY: 'test-key',
  SVC_LIVE_MODELS: 'false',
})
