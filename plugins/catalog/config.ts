import { type Static, Type } from '@sinclair/typebox'

/** Settings of the plugin, as `[plugins.catalog]` takes them. */
export const CatalogConfig = Type.Object({
  catalog_path: Type.String({
    default: '',
    setting: 'model_catalog_path',
    description: 'A catalog file, or a folder laid out like `content`, in place of what ships.',
  }),
  pricing_path: Type.String({ default: '', setting: 'pricing_catalog_path', description: 'A price list file.' }),
  providers: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    description: 'Providers to add, change field by field, or (`enabled = false`) take out.',
  }),
  referer: Type.String({ default: '', setting: 'aggregator_referer' }),
  title: Type.String({ default: '', setting: 'aggregator_title' }),
})
export type CatalogConfig = Readonly<Static<typeof CatalogConfig>>
