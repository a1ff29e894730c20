const TOKEN = /([?&](?:t|%74)(?:o|%6f)(?:k|%6b)(?:e|%65)(?:n|%6e)=)[^&#"\\\s]*/gi
const KEY = /\b(rw[a-z2-7]{6})_[A-Za-z0-9_-]{43}_[a-z2-7]{6}/g

/** A text as it may be written down: the value of a `token` parameter and anything shaped like a key is gone. */
export const maskUrl = (text: string): string => text.replace(TOKEN, '$1***').replace(KEY, '$1_***')
