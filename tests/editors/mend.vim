" Opens a file in Vim with ALE, waits for a diagnostic, applies a fix, saves, and writes what was seen.
" vim -Nu mend.vim -es, with the file in $FILE, the configuration in $CONFIGURATION, and the report's file in $SEEN
set nocompatible noswapfile viminfo= hidden
let g:ale_linters_explicit = 1
let g:ale_lint_delay = 50
let g:ale_update_tagstack = 0
filetype plugin on
packadd! ale
runtime plugin/ale.vim
source $CONFIGURATION

" What a person would type at the menu of actions: the number of the first one.
runtime autoload/ale/util.vim
func! ale#util#Input(...)
  return '1'
endfunc

func! Until(seen)
  let began = reltime()
  while reltimefloat(reltime(began)) < 30
    if a:seen() | return | endif
    sleep 50m
  endwhile
  cquit
endfunc

func! Main()
  execute 'edit' $FILE
  set filetype=python
  ALEEnable
  ALELint
  call Until({-> len(ale#engine#GetLoclist(bufnr('')))})
  let first = ale#engine#GetLoclist(bufnr(''))[0]
  call writefile([json_encode({'line': first.lnum, 'column': first.col, 'code': get(first, 'code', ''), 'text': first.text})], $SEEN)
  call cursor(first.lnum, first.col)
  let before = getline(1, '$')
  ALECodeAction
  call Until({-> getline(1, '$') != before})
  ALELint
  call Until({-> empty(ale#engine#GetLoclist(bufnr('')))})
  write
  ALEStopAllLSPs
  qall!
endfunc
call Main()
