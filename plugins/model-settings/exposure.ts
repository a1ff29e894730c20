import { own, type Settings } from './setting.js'

/**
 * Which models lists show. What was said of a model wins over what was said of its provider. Of whom nothing was said: shown,
 * unless somebody has chosen single models, anywhere; then the chosen ones are the list.
 */
export function exposureOf(settings: Settings): (provider: string, model: string) => boolean {
  const isChosen = [...settings.values()].some(({ exposed = {} }) => Object.values(exposed).includes(true))
  return (provider, model) => {
    const setting = settings.get(provider)
    return own(setting?.exposed, model) ?? setting?.isExposed ?? !isChosen
  }
}
