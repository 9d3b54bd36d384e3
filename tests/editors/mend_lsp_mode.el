;; Opens a file in Emacs with lsp-mode, waits for a diagnostic, applies the preferred fix, saves, and prints what was seen.
;; emacs --batch -l mend_lsp_mode.el FILE CONFIGURATION
(require 'package)
(package-initialize)
(require 'lsp-mode)
(require 'lsp-diagnostics)
(setq lsp-auto-guess-root t lsp-diagnostics-provider :flymake lsp-enable-snippet nil make-backup-files nil
      lsp-session-file (expand-file-name "session" (getenv "HOME")))

(defun until (seen)
  "What SEEN gives, once it gives something; a failure after half a minute."
  (let ((end (+ (float-time) 30)) value)
    (while (and (not (setq value (funcall seen))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or value (progn (message "nothing was seen in time") (kill-emacs 1)))))

(defun found (file) "The diagnostics of FILE." (gethash file (lsp-diagnostics t)))

(let ((file (car command-line-args-left)) seen)
  (load (cadr command-line-args-left))
  (setq command-line-args-left nil)
  (find-file file)
  (python-mode)
  (lsp)
  (let* ((diagnostic (car (until (lambda () (found file)))))
         (range (lsp-get diagnostic :range))
         (beg (lsp--position-to-point (lsp-get range :start)))
         (end (lsp--position-to-point (lsp-get range :end)))
         (actions (progn (goto-char beg) (append (lsp-code-actions-at-point) nil)))
         (preferred (seq-find (lambda (action) (eq t (lsp-get action :isPreferred))) actions)))
    (setq seen `((underlined . ,(buffer-substring-no-properties beg end))
                 (line . ,(line-number-at-pos beg))
                 (text . ,(lsp-get diagnostic :message))))
    (lsp-execute-code-action preferred))
  (until (lambda () (null (found file))))
  (let ((before-save-hook nil)) (save-buffer))
  (princ (json-encode seen))
  (kill-emacs 0))
